import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.postgresql.PGConnection;

/** llm calls through pgjdbc: plain, by fetch size, by COPY, prepared seven times, and explained. */
class PgjdbcLlm extends Checks {
    static final Pattern NAMED = Pattern.compile("-- name: (\\w+)\\n(?:-- with: ([^\\n]*)\\n)?(.*?);\\n", Pattern.DOTALL);
    static final Pattern VALUE = Pattern.compile("'([^']*)'|(\\d+)");
    static final List<String> EXPLAINED = List.of("llm", "filter", "agg", "nested");

    public static void main(String[] arguments) throws IOException {
        PgjdbcLlm checks = new PgjdbcLlm();
        String view = Files.readString(Path.of(System.getenv("BI_TABLES"), "llm_view.sql"));
        for (Matcher each = read("llm_calls.sql"); each.find(); ) checks.call(view, each.group(1), each.group(3));
        for (Matcher each = read("llm_prepared.sql"); each.find(); ) {
            checks.prepared(each.group(1), each.group(2), each.group(3).replaceAll("\\$\\d", "?"));
        }
        checks.run();
    }

    static Matcher read(String file) throws IOException {
        return NAMED.matcher(Files.readString(Path.of(System.getenv("BI_TABLES"), file)));
    }

    void call(String view, String name, String sql) {
        add(name + "_plain", con -> {
            con.createStatement().execute(view);
            return ask(con, sql);
        });
        add(name + "_cursor", con -> fetched(con, view, sql));
        add(name + "_copy", con -> {
            con.createStatement().execute(view);
            return copied(con, sql);
        });
        if (EXPLAINED.contains(name)) add(name + "_explain", con -> ask(con, "EXPLAIN " + sql));
    }

    static List<List<String>> fetched(Connection con, String view, String sql) throws SQLException {
        con.createStatement().execute(view);
        con.setAutoCommit(false);
        Statement statement = con.createStatement();
        statement.setFetchSize(7);
        return rows(statement.executeQuery(sql));
    }

    static List<List<String>> copied(Connection con, String sql) throws SQLException, IOException {
        StringWriter taken = new StringWriter();
        con.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY (" + sql + ") TO STDOUT", taken);
        List<List<String>> rows = new ArrayList<>();
        for (String line : taken.toString().split("\n")) {
            List<String> row = new ArrayList<>();
            for (String field : line.split("\t", -1)) row.add(field.equals("\\N") ? null : field);
            rows.add(row);
        }
        return rows;
    }

    void prepared(String name, String values, String sql) {
        add(name + "_prepared", con -> {
            PreparedStatement statement = con.prepareStatement(sql);
            List<List<String>> found = List.of();
            for (int i = 0; i < 7; i++) { // from the fifth on, it is a named statement of the server
                set(statement, values);
                found = rows(statement.executeQuery());
            }
            return found;
        });
    }

    static void set(PreparedStatement statement, String values) throws SQLException {
        int number = 0;
        for (Matcher each = VALUE.matcher(values); each.find(); ) {
            number++;
            if (each.group(1) != null) statement.setString(number, each.group(1));
            else statement.setInt(number, Integer.parseInt(each.group(2)));
        }
    }
}
