public class Keeper {
    static final class Node {
        final Node left, right;
        Node(Node left, Node right) { this.left = left; this.right = right; }
    }
    static final class Leaf { Object next; long figure; }
    static final class Dropped { final byte[] bytes = new byte[100]; }
    static final class Late { Object self = this; }

    static Node root;
    static Leaf[] leaves = new Leaf[300];
    static int[][] grid = new int[7][5];
    static Object late;

    static Node tree(int depth) {
        return depth == 0 ? new Node(null, null) : new Node(tree(depth - 1), tree(depth - 1));
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("early")) {
            System.gc();
        }
        root = tree(9);
        for (int i = 0; i < leaves.length; i++) {
            leaves[i] = new Leaf();
        }
        leaves[0].next = leaves[0];
        for (int i = 0; i < 50; i++) {
            new Dropped();
        }
        for (String arg : args) {
            switch (arg) {
                case "gc":
                    System.gc();
                    Thread.sleep(200);
                    break;
                case "churn":
                    for (int t = 0; t < 3; t++) {
                        Thread churn = new Thread(() -> {
                            while (true) {
                                System.gc();
                                late = new Object[][] {{new Late()}};
                            }
                        });
                        churn.setDaemon(true);
                        churn.start();
                    }
                    Thread.sleep(300);
                    break;
                case "wait":
                    System.out.println("[ready]");
                    while (System.in.read() >= 0) { }
                    break;
            }
        }
        System.out.println("[done]");
    }
}
