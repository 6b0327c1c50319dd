import harness.ExpectEvents;

public class Held {
    static class Short {}
    static class Middle {}
    static class Long {}

    static void hold(Object lock, long ms) throws Exception {
        Thread thread = new Thread(() -> { synchronized (lock) { lock.hashCode(); } }, "blocked");
        long before, seen, released;
        synchronized (lock) {
            before = System.nanoTime();
            thread.start();
            while (thread.getState() != Thread.State.BLOCKED) Thread.sleep(1);
            ExpectEvents.awaitIdle(); // the event of the blocked thread may still be in progress
            seen = System.nanoTime();
            Thread.sleep(ms);
            released = System.nanoTime();
        }
        thread.join();
        long after = System.nanoTime();
        System.out.println("HELD " + lock.getClass().getName() + " " + (released - seen) + " " + (after - before));
    }

    public static void main(String[] args) throws Exception {
        hold(new Middle(), 300);
        hold(new Long(), 900);
        hold(new Short(), 60);
    }
}
