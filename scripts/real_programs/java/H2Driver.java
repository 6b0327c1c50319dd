import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * A bank in memory. Several connections move money between few accounts, so that they wait for each
 * other's rows. The order of the transfers makes no difference to the result. Arguments: number of
 * connections, transfers of each connection.
 */
public final class H2Driver {
    private static final String URL = "jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";
    private static final int ACCOUNTS = 5;

    private static void transfer(int seed, int transfers) throws SQLException {
        try (Connection connection = DriverManager.getConnection(URL, "sa", "");
                PreparedStatement add = connection.prepareStatement("UPDATE account SET cents = cents + ? WHERE id = ?")) {
            connection.setAutoCommit(false);
            long state = seed;
            for (int i = 0; i < transfers; i++) {
                state = state * 6364136223846793005L + 1442695040888963407L;
                int from = (int) (state >>> 33) % ACCOUNTS;
                int to = (from + 1 + (int) (state >>> 40) % (ACCOUNTS - 1)) % ACCOUNTS;
                int cents = (int) (state >>> 50) % 100;
                // The lower account comes first. Otherwise two connections could wait for each
                // other for ever.
                for (int id : new int[] {Math.min(from, to), Math.max(from, to)}) {
                    add.setInt(1, id == from ? -cents : cents);
                    add.setInt(2, id);
                    add.executeUpdate();
                }
                connection.commit();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int transfers = Integer.parseInt(args[1]);
        try (Connection connection = DriverManager.getConnection(URL, "sa", "");
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE account (id INT PRIMARY KEY, cents BIGINT)");
            statement.execute("INSERT INTO account SELECT x - 1, 100000 FROM SYSTEM_RANGE(1, " + ACCOUNTS + ")");
            Thread[] threads = new Thread[Integer.parseInt(args[0])];
            for (int i = 0; i < threads.length; i++) {
                int seed = i + 1;
                threads[i] = new Thread(() -> {
                    try {
                        transfer(seed, transfers);
                    } catch (SQLException e) {
                        System.out.println(e);
                    }
                }, "teller-" + seed);
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            try (ResultSet rows = statement.executeQuery("SELECT id, cents FROM account ORDER BY id")) {
                while (rows.next()) {
                    System.out.println(rows.getInt(1) + " " + rows.getLong(2));
                }
            }
        }
    }
}
