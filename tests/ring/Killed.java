/** Makes calls for a while, and kills its own process. */
public final class Killed {
    static int sink;

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 1000; i++) {
            sink = call(sink);
        }
        String pid = Long.toString(ProcessHandle.current().pid());
        new ProcessBuilder("kill", "-9", pid).inheritIO().start().waitFor();
        Thread.sleep(60_000);
    }

    static int call(int n) {
        return n + 1;
    }
}
