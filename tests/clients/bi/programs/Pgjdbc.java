import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Connection;
import java.sql.Date;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

/** pgjdbc: prepared statements, cursors by fetch size, batches, arrays, COPY, time-outs. */
class Pgjdbc extends Checks {
    static final String ALL_TYPES = "SELECT * FROM all_types ORDER BY id";

    public static void main(String[] arguments) {
        Pgjdbc checks = new Pgjdbc();
        new PgjdbcCatalog(checks).add();
        checks.reading();
        checks.parameters();
        checks.writing();
        checks.running();
        checks.run();
    }

    void reading() {
        add("all_types", con -> ask(con, ALL_TYPES));
        add("all_types_binary", con -> binary(ALL_TYPES));
        add("objects", con -> objects(con.createStatement().executeQuery(ALL_TYPES)));
        add("result_metadata", con -> described(con.createStatement().executeQuery(ALL_TYPES).getMetaData()));
        add("result_metadata_of_expressions", con -> described(con.createStatement().executeQuery(
            "SELECT count(*) AS n, sum(amount) AS s, max(note) AS m, min(ts) AS t, 1 AS i, 'a' AS c, 1.5 AS d FROM orders")
            .getMetaData()));
        add("result_metadata_of_a_prepared_statement", con -> described(
            con.prepareStatement("SELECT id, amount, note FROM orders WHERE id = ?").getMetaData()));
        add("arrays", con -> {
            ResultSet found = con.createStatement().executeQuery("SELECT some_integers, some_texts FROM all_types WHERE id = 1");
            found.next();
            Object[] numbers = (Object[]) found.getArray(1).getArray();
            return List.of(Arrays.toString(numbers), Arrays.toString((Object[]) found.getArray(2).getArray()));
        });
        add("timestamps", con -> {
            ResultSet found = con.createStatement().executeQuery("SELECT a_timestamp, a_date, a_time FROM all_types WHERE id = 1");
            found.next();
            return List.of(found.getTimestamp(1), found.getDate(2), found.getTime(3), found.getObject(1, java.time.LocalDateTime.class));
        });
        add("fetch_size", con -> {
            con.setAutoCommit(false);
            Statement statement = con.createStatement();
            statement.setFetchSize(50);
            ResultSet found = statement.executeQuery("SELECT id FROM orders ORDER BY id");
            long sum = 0;
            while (found.next()) sum += found.getLong(1);
            return sum;
        });
        add("fetch_size_of_a_prepared_statement", con -> {
            con.setAutoCommit(false);
            PreparedStatement statement = con.prepareStatement("SELECT id FROM orders WHERE id > ? ORDER BY id");
            statement.setFetchSize(7);
            statement.setInt(1, 100);
            return rows(statement.executeQuery()).size();
        });
        add("max_rows", con -> {
            Statement statement = con.createStatement();
            statement.setMaxRows(3);
            return rows(statement.executeQuery("SELECT id FROM orders ORDER BY id"));
        });
        add("scrollable", con -> {
            Statement statement = con.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
            ResultSet found = statement.executeQuery("SELECT id FROM orders ORDER BY id");
            found.last();
            int last = found.getRow();
            found.absolute(5);
            return List.of(last, found.getInt(1));
        });
        add("updatable", con -> {
            con.createStatement().execute("CREATE TABLE updatable (a INTEGER PRIMARY KEY, b TEXT)");
            try (Statement statement = con.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                con.createStatement().execute("INSERT INTO updatable VALUES (1, 'x')");
                ResultSet found = statement.executeQuery("SELECT a, b FROM updatable");
                found.next();
                found.updateString(2, "y");
                found.updateRow();
                return ask(con, "SELECT * FROM updatable");
            } finally {
                con.createStatement().execute("DROP TABLE updatable");
            }
        });
    }

    static List<List<String>> binary(String sql) throws SQLException {
        try (Connection con = connect(Map.of("prepareThreshold", "-1"))) {
            return rows(con.prepareStatement(sql).executeQuery());
        }
    }

    static List<List<String>> objects(ResultSet found) throws SQLException {
        found.next();
        List<String> classes = new ArrayList<>();
        for (int i = 1; i <= found.getMetaData().getColumnCount(); i++) {
            classes.add(found.getObject(i).getClass().getName());
        }
        return List.of(classes);
    }

    static List<List<Object>> described(ResultSetMetaData told) throws SQLException {
        List<List<Object>> columns = new ArrayList<>();
        for (int i = 1; i <= told.getColumnCount(); i++) {
            columns.add(List.of(
                told.getColumnLabel(i), told.getColumnTypeName(i), told.getColumnType(i), told.getPrecision(i), told.getScale(i)));
        }
        return columns;
    }

    interface Setting {
        void of(PreparedStatement statement) throws Exception;
    }

    void parameter(String name, String sql, Setting setting) {
        add("parameter_" + name, con -> {
            PreparedStatement statement = con.prepareStatement(sql);
            List<List<String>> found = List.of();
            for (int i = 0; i < 7; i++) { // from the fifth on, the statement is prepared and its rows come in binary
                setting.of(statement);
                found = rows(statement.executeQuery());
            }
            return found;
        });
    }

    void parameters() {
        parameter("int", "SELECT id FROM orders WHERE id = ?", p -> p.setInt(1, 3));
        parameter("long", "SELECT ? AS v", p -> p.setLong(1, 1L << 40));
        parameter("double", "SELECT ? AS v", p -> p.setDouble(1, 1.5));
        parameter("decimal", "SELECT count(*) FROM orders WHERE amount > ?", p -> p.setBigDecimal(1, new BigDecimal("12.50")));
        parameter("boolean", "SELECT count(*) FROM customers WHERE vip = ?", p -> p.setBoolean(1, true));
        parameter("string", "SELECT id FROM orders WHERE note = ?", p -> p.setString(1, "note 3"));
        parameter("string_alone", "SELECT ? AS v", p -> p.setString(1, "it's \\ \u00fc"));
        parameter("string_of_an_enum", "SELECT count(*) FROM orders WHERE mood = ?::mood", p -> p.setString(1, "ok"));
        parameter("date", "SELECT count(*) FROM orders WHERE day = ?", p -> p.setDate(1, Date.valueOf("2024-01-05")));
        parameter("timestamp", "SELECT count(*) FROM orders WHERE ts < ?",
            p -> p.setTimestamp(1, Timestamp.valueOf("2024-01-05 00:00:00")));
        parameter("local_date_time", "SELECT count(*) FROM orders WHERE ts < ?",
            p -> p.setObject(1, java.time.LocalDateTime.of(2024, 1, 5, 0, 0)));
        parameter("uuid", "SELECT id FROM all_types WHERE a_uuid = ?", p -> p.setObject(1, new UUID(0, 0)));
        parameter("bytes", "SELECT octet_length(?::bytea) AS v", p -> p.setBytes(1, new byte[] {0, -1}));
        parameter("null", "SELECT ?::int AS v", p -> p.setNull(1, Types.INTEGER));
        parameter("array", "SELECT id FROM orders WHERE id = ANY(?) ORDER BY id",
            p -> p.setArray(1, p.getConnection().createArrayOf("bigint", new Object[] {1L, 2L})));
        parameter("text_array", "SELECT id FROM orders WHERE note = ANY(?) ORDER BY id",
            p -> p.setArray(1, p.getConnection().createArrayOf("text", new Object[] {"note 1", "note, 2", "note 3"})));
        parameter("several", "SELECT id, amount FROM orders WHERE amount > ? AND ts < ? AND note LIKE ? ORDER BY id LIMIT ?", p -> {
            p.setBigDecimal(1, new BigDecimal("2.5"));
            p.setTimestamp(2, Timestamp.valueOf("2025-01-01 00:00:00"));
            p.setString(3, "note%");
            p.setInt(4, 3);
        });
        add("parameter_metadata", con -> {
            var told = con.prepareStatement("SELECT id FROM orders WHERE id = ? AND note = ? AND amount > ?").getParameterMetaData();
            return List.of(told.getParameterTypeName(1), told.getParameterTypeName(2), told.getParameterTypeName(3));
        });
    }

    void writing() {
        add("batch", con -> {
            con.createStatement().execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)");
            PreparedStatement statement = con.prepareStatement("INSERT INTO t VALUES (?, ?)");
            for (int i = 0; i < 100; i++) {
                statement.setInt(1, i);
                statement.setString(2, "row " + i);
                statement.addBatch();
            }
            return List.of(Arrays.stream(statement.executeBatch()).sum(), ask(con, "SELECT count(*), sum(a), max(b) FROM t"));
        });
        add("batch_rewritten", con -> {
            try (Connection other = connect(Map.of("reWriteBatchedInserts", "true"))) {
                other.createStatement().execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)");
                PreparedStatement statement = other.prepareStatement("INSERT INTO t VALUES (?, ?)");
                for (int i = 0; i < 100; i++) {
                    statement.setInt(1, i);
                    statement.setString(2, "row " + i);
                    statement.addBatch();
                }
                statement.executeBatch();
                return ask(other, "SELECT count(*), sum(a), max(b) FROM t");
            }
        });
        add("update_counts", con -> {
            Statement statement = con.createStatement();
            statement.execute("CREATE TEMP TABLE t AS SELECT id FROM orders");
            return List.of(statement.executeUpdate("UPDATE t SET id = 0 WHERE id > 990"), statement.executeUpdate("DELETE FROM t"));
        });
        add("returning", con -> {
            con.createStatement().execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)");
            PreparedStatement statement = con.prepareStatement("INSERT INTO t VALUES (1, 'x')", new String[] {"a"});
            statement.executeUpdate();
            return rows(statement.getGeneratedKeys());
        });
        add("copy_out", con -> {
            StringWriter taken = new StringWriter();
            long copied = con.unwrap(PGConnection.class).getCopyAPI()
                .copyOut("COPY (SELECT id, note FROM orders WHERE id < 15 ORDER BY id) TO STDOUT (FORMAT csv, HEADER)", taken);
            return List.of(copied, taken);
        });
        add("copy_in", con -> {
            con.createStatement().execute("CREATE TEMP TABLE t (a INTEGER, b TEXT)");
            CopyManager manager = con.unwrap(PGConnection.class).getCopyAPI();
            long copied = manager.copyIn("COPY t FROM STDIN (FORMAT csv)", new StringReader("1,x\n2,\n"));
            return List.of(copied, ask(con, "SELECT * FROM t ORDER BY a"));
        });
        add("copy_in_bad_row", con -> {
            con.createStatement().execute("CREATE TEMP TABLE t (a INTEGER)");
            return con.unwrap(PGConnection.class).getCopyAPI().copyIn("COPY t FROM STDIN", new StringReader("1\nx\n"));
        });
    }

    void running() {
        add("rollback", con -> {
            con.setAutoCommit(false);
            con.createStatement().execute("INSERT INTO customers (id, name) VALUES (5007, 'nobody')");
            con.rollback();
            return ask(con, "SELECT count(*) FROM customers WHERE id = 5007");
        });
        add("savepoint", con -> {
            con.setAutoCommit(false);
            con.rollback(con.setSavepoint("x"));
            return ask(con, "SELECT 1");
        });
        add("transaction_isolation", con -> {
            int before = con.getTransactionIsolation();
            con.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            return List.of(before, con.getTransactionIsolation());
        });
        add("read_only", con -> {
            con.setAutoCommit(false);
            con.setReadOnly(true);
            return con.createStatement().execute("CREATE TABLE refused (a INTEGER)");
        });
        add("query_timeout", con -> {
            Statement statement = con.createStatement();
            statement.setQueryTimeout(1);
            return rows(statement.executeQuery(SLOW));
        });
        add("goes_on_after_a_cancel", con -> {
            Statement statement = con.createStatement();
            statement.setQueryTimeout(1);
            try {
                statement.executeQuery(SLOW);
            } catch (SQLException error) {
                return List.of(error.getSQLState(), ask(con, "SELECT 1"));
            }
            return "never cancelled";
        });
        add("several_statements", con -> {
            Statement statement = con.createStatement();
            statement.execute("SELECT 1; SELECT 2");
            List<List<String>> first = rows(statement.getResultSet());
            return List.of(first, statement.getMoreResults(), rows(statement.getResultSet()));
        });
        add("simple_query_mode", con -> {
            try (Connection other = connect(Map.of("preferQueryMode", "simple"))) {
                PreparedStatement statement = other.prepareStatement("SELECT id, note FROM orders WHERE id = ? AND note = ?");
                statement.setInt(1, 3);
                statement.setString(2, "note 3");
                return rows(statement.executeQuery());
            }
        });
        add("warnings", con -> {
            Statement statement = con.createStatement();
            statement.execute("DROP TABLE IF EXISTS no_such_table");
            return statement.getWarnings() != null;
        });
        add("escapes", con -> ask(con, "SELECT {fn concat('a', 'b')}, {d '2024-01-01'}, {ts '2024-01-01 00:00:00'}, {fn year({d '2024-01-01'})}"));
        add("isValid", con -> con.isValid(2));
        add("setSchema", con -> {
            con.setSchema("main");
            return con.getSchema();
        });
        add("error", con -> ask(con, "SELECT * FROM no_such_table"));
        add("unique_violation", con -> con.createStatement().execute("INSERT INTO customers (id, name) VALUES (1, 'x')"));
        add("sequence", con -> ask(con, "SELECT nextval('ticket')").size());
        add("several_at_once", con -> {
            try (Connection other = connect(Map.of("ApplicationName", "tool"))) {
                return List.of(ask(con, "SELECT count(*) FROM orders"), ask(other, "SHOW application_name"));
            }
        });
    }
}
