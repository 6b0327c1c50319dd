package harness;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Set;
import java.util.TreeSet;

/**
 * Prints all threads that a program can see, in each way that there is. An agent's threads must not
 * be among them.
 */
public final class ThreadsSeen {
    static void print(String way, Set<String> names) {
        System.out.println(way + ": " + names);
    }

    public static void main(String[] args) throws Exception {
        Thread.sleep(args.length > 0 ? Long.parseLong(args[0]) : 300);
        Set<String> names = new TreeSet<>();
        for (Thread t : Thread.getAllStackTraces().keySet()) {
            names.add(t.getName());
        }
        print("stacks", names);

        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        Thread[] all = new Thread[1000];
        int count = group.enumerate(all);
        names.clear();
        for (int i = 0; i < count; i++) {
            names.add(all[i].getName());
        }
        print("groups", names);

        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        names.clear();
        for (ThreadInfo info : bean.dumpAllThreads(false, false)) {
            names.add(info.getThreadName());
        }
        print("beans", names);
        System.out.println("counts: " + bean.getThreadCount() + " " + bean.getTotalStartedThreadCount());
        Expect.print();
    }
}
