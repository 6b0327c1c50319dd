public class Quiet {
    public static void main(String[] args) throws Exception {
        System.gc();
        System.out.println("[ready]");
        System.in.read();
    }
}
