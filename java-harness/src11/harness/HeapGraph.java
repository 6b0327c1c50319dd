package harness;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * A heap of known shape at the end: objects, and the references from them. References are the
 * fields and array elements that are not null. An object's reference to its class does not count.
 */
public final class HeapGraph {
    static final class Node {
        Node next;
        long payload;
    }

    static final class Tree {
        Tree left, right;

        Tree(int depth) {
            if (depth > 1) {
                left = new Tree(depth - 1);
                right = new Tree(depth - 1);
            }
        }
    }

    static final class Leaf {}

    static final class Self {
        Self self = this;
    }

    static final class Pointer {
        Object target;
        Object none;
    }

    static final class Target {}

    static class Base {
        private Object hidden = new Leaf();
        int number;
        Object shared = hidden;
    }

    /** A class with a field of the same name as a field of its superclass. */
    static final class Sub extends Base {
        private Object hidden = new Leaf();
    }

    static final class Named {
        final String name;

        Named(String name) {
            this.name = name;
        }
    }

    /** A class whose objects are reachable from static fields only. */
    static final class Static {}

    /** A class whose objects are reachable from local variables of a thread only. */
    static final class OnStack {}

    static final class Sleeper extends Thread {
        Sleeper() {
            super("sleeper");
            setDaemon(true);
        }

        @Override
        public void run() {
            hold();
        }
    }

    static Node list;
    static Tree tree;
    static Leaf[][] leaves;
    static Self self;
    static Pointer[] pointers;
    static Sub[] subs;
    static Named[] names;
    static final Static FINAL = new Static();
    static Static one;
    static Static same;
    static Static none;
    static Object dead;
    static volatile Object sink;
    static final CountDownLatch HELD = new CountDownLatch(1);

    static void hold() {
        OnStack held = new OnStack();
        HELD.countDown();
        while (true) {
            LockSupport.park();
            sink = held;
        }
    }

    static void build() {
        for (int i = 0; i < 1000; i++) {
            Node node = new Node();
            node.next = list;
            list = node;
        }
        tree = new Tree(12);
        leaves = new Leaf[12][];
        for (int i = 0; i < 10; i++) {
            leaves[i] = new Leaf[100];
            for (int j = 0; j < 50; j++) {
                leaves[i][2 * j] = new Leaf();
            }
        }
        self = new Self();
        pointers = new Pointer[100];
        Target target = new Target();
        for (int i = 0; i < pointers.length; i++) {
            pointers[i] = new Pointer();
            pointers[i].target = target;
        }
        subs = new Sub[] {new Sub(), new Sub(), null};
        names = new Named[] {new Named("a"), new Named(null)};
        one = new Static();
        same = one;
    }

    /** Creates objects that are unreachable at the end. */
    static void waste() {
        Node[] nodes = new Node[500];
        for (int i = 0; i < nodes.length; i++) {
            nodes[i] = new Node();
        }
        dead = nodes;
        dead = null;
    }

    public static void main(String[] args) throws Exception {
        build();
        waste();
        new Sleeper().start();
        HELD.await();
        System.out.println("built");

        ExpectEvents.heap(Node.class, 1000, 999);
        ExpectEvents.heap(Tree.class, 4095, 4094);
        ExpectEvents.heap(Leaf[][].class, 1, 10);
        ExpectEvents.heap(Leaf[].class, 10, 500);
        ExpectEvents.heap(Leaf.class, 500 + 2 * 2, 0);
        ExpectEvents.heap(Self.class, 1, 1);
        ExpectEvents.heap(Pointer[].class, 1, 100);
        ExpectEvents.heap(Pointer.class, 100, 100);
        ExpectEvents.heap(Target.class, 1, 0);
        ExpectEvents.heap(Sub[].class, 1, 2);
        ExpectEvents.heap(Sub.class, 2, 2 * 3);
        ExpectEvents.heap(Base.class, 0, 0);
        ExpectEvents.heap(Named[].class, 1, 2);
        ExpectEvents.heap(Named.class, 2, 1);
        ExpectEvents.heap(Static.class, 2, 0);
        ExpectEvents.heap(OnStack.class, 1, 0);
        ExpectEvents.heap(Node[].class, 0, 0);
        Expect.fact("heap." + Sleeper.class.getName(), 1);
        ExpectEvents.root("STACK_LOCAL", OnStack.class, 1);
        ExpectEvents.root("THREAD", Sleeper.class, 1);
        System.gc();
        Expect.print();
    }
}
