import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** A database in memory under load, by transactions whose results are known. */
public final class H2Server {
    private static final int THREADS = 3;
    private static final int ACCOUNTS = 100;
    private static final long ALL = 100_000;

    private H2Server() {}

    public static void main(String[] args) throws Exception {
        String url = "jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1";
        Connection[] connections = new Connection[THREADS];
        try (Connection first = DriverManager.getConnection(url, "sa", "");
                Statement statement = first.createStatement()) {
            for (int i = 0; i < THREADS; i++) {
                // Each thread has its own table, so that none waits for another's transaction.
                statement.execute("create table account" + i + "(id int primary key, amount bigint, note varchar)");
                for (int id = 0; id < ACCOUNTS; id++) {
                    statement.execute("insert into account" + i + " values(" + id + ", " + ALL / ACCOUNTS + ", 'n" + id + "')");
                }
                connections[i] = DriverManager.getConnection(url, "sa", "");
                connections[i].setAutoCommit(false);
            }
        }
        Load.run(THREADS, (thread, number) -> transfer(connections[thread], thread, number));
        for (Connection connection : connections) {
            connection.close();
        }
    }

    /**
     * Moves an amount from one account to another. Returns true if the sum of all accounts is
     * unchanged.
     */
    private static boolean transfer(Connection connection, int thread, long number) throws SQLException {
        String table = "account" + thread;
        int from = (int) (number % ACCOUNTS);
        int to = (int) (number * 7 % ACCOUNTS);
        try (PreparedStatement change = connection.prepareStatement(
                "update " + table + " set amount = amount + ? where id = ?")) {
            change.setLong(1, -(number % 10));
            change.setInt(2, from);
            change.executeUpdate();
            change.setLong(1, number % 10);
            change.setInt(2, to);
            change.executeUpdate();
        }
        connection.commit();
        try (Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery(
                        "select sum(amount), count(distinct note) from " + table + " where id >= 0")) {
            return found.next() && found.getLong(1) == ALL && found.getInt(2) == ACCOUNTS;
        }
    }
}
