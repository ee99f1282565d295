import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** Named checks of a Java client: each on a connection of its own, a JSON line before it and one after it. */
class Checks {
    /** Runs for hours on either server, and reads nothing. */
    static final String SLOW = "SELECT count(*) FROM generate_series(1, 1000000) AS a(x), "
        + "generate_series(1, 1000000) AS b(y) WHERE (x + y) % 7 = 3";

    interface Check {
        Object run(Connection con) throws Exception;
    }

    private final Map<String, Check> named = new LinkedHashMap<>();

    void add(String name, Check check) {
        if (named.put(name, check) != null) throw new IllegalArgumentException("two checks are named " + name);
    }

    /** Run all, or those after the one that BI_AFTER names. */
    void run() {
        String after = System.getenv().getOrDefault("BI_AFTER", "");
        boolean due = after.isEmpty();
        for (Map.Entry<String, Check> each : named.entrySet()) {
            if (due) {
                System.out.println("{\"start\": " + json(each.getKey()) + "}");
                System.out.println("{\"check\": " + json(each.getKey()) + ", " + outcome(each.getValue()) + "}");
            }
            due = due || each.getKey().equals(after);
        }
    }

    private static String outcome(Check check) {
        try (Connection con = connect(Map.of())) {
            return "\"value\": " + json(check.run(con));
        } catch (SQLException error) {
            return "\"error\": " + json(error.getMessage()) + ", \"sqlstate\": " + json(error.getSQLState());
        } catch (Exception error) {
            return "\"error\": " + json(error.toString());
        }
    }

    static Connection connect(Map<String, String> more) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", System.getenv("PGUSER"));
        properties.setProperty("password", System.getenv("PGPASSWORD"));
        properties.putAll(more);
        String place = System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        return DriverManager.getConnection("jdbc:postgresql://" + place, properties);
    }

    /** All rows as texts. */
    static List<List<String>> rows(ResultSet found) throws SQLException {
        List<List<String>> rows = new ArrayList<>();
        while (found.next()) {
            List<String> row = new ArrayList<>();
            for (int i = 1; i <= found.getMetaData().getColumnCount(); i++) row.add(text(found, i));
            rows.add(row);
        }
        return rows;
    }

    private static String text(ResultSet found, int column) throws SQLException {
        if (found.getMetaData().getColumnType(column) != Types.BINARY) return found.getString(column);
        byte[] bytes = found.getBytes(column);
        return bytes == null ? null : "bytes " + HexFormat.of().formatHex(bytes);
    }

    /** These columns of all rows as texts. */
    static List<List<String>> rows(ResultSet found, String... columns) throws SQLException {
        List<List<String>> rows = new ArrayList<>();
        while (found.next()) {
            List<String> row = new ArrayList<>();
            for (String column : columns) row.add(found.getString(column));
            rows.add(row);
        }
        return rows;
    }

    static List<List<String>> ask(Connection con, String sql) throws SQLException {
        return rows(con.createStatement().executeQuery(sql));
    }

    static String json(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Long) {
            return String.valueOf(value);
        }
        if (value instanceof Iterable) {
            StringBuilder text = new StringBuilder("[");
            for (Object each : (Iterable<?>) value) text.append(text.length() > 1 ? ", " : "").append(json(each));
            return text.append("]").toString();
        }
        StringBuilder text = new StringBuilder("\"");
        for (char c : value.toString().toCharArray()) {
            text.append(c < ' ' || c > '~' || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        }
        return text.append("\"").toString();
    }
}
