import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** pgjdbc's DatabaseMetaData: what tables, columns, keys, indexes and types there are. */
class PgjdbcCatalog {
    private final Checks checks;

    PgjdbcCatalog(Checks checks) {
        this.checks = checks;
    }

    void add() {
        metadata();
        keys();
    }

    static DatabaseMetaData of(Connection con) throws SQLException {
        return con.getMetaData();
    }

    void metadata() {
        checks.add("getCatalogs", con -> Checks.rows(of(con).getCatalogs()).contains(List.of("bi")));
        checks.add("getSchemas", con -> Checks.rows(of(con).getSchemas(null, "main"), "TABLE_SCHEM"));
        checks.add("getTableTypes", con -> Checks.rows(of(con).getTableTypes()));
        checks.add("getTables", con -> Checks.rows(
            of(con).getTables(null, "main", "%", new String[] {"TABLE", "VIEW"}),
            "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS"));
        checks.add("getTables_pattern", con -> Checks.rows(
            of(con).getTables(null, null, "order\\_%", null), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE"));
        checks.add("getColumns", con -> Checks.rows(
            of(con).getColumns(null, "main", "all_types", "%"),
            "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "NULLABLE", "ORDINAL_POSITION",
            "IS_NULLABLE", "IS_AUTOINCREMENT"));
        checks.add("getColumns_remarks_and_defaults", con -> Checks.rows(
            of(con).getColumns(null, "main", "order%", "%"), "TABLE_NAME", "COLUMN_NAME", "REMARKS", "COLUMN_DEF"));
        checks.add("getColumns_of_a_view", con -> Checks.rows(
            of(con).getColumns(null, "main", "big_orders", "%"), "COLUMN_NAME", "TYPE_NAME", "DECIMAL_DIGITS"));
        checks.add("getTypeInfo", con -> typesOf(Checks.rows(of(con).getTypeInfo(), "TYPE_NAME", "DATA_TYPE", "PRECISION")));
        checks.add("getFunctions", con -> Checks.rows(of(con).getFunctions(null, "main", "no_such%")));
        checks.add("getProcedures", con -> Checks.rows(of(con).getProcedures(null, "main", "no_such%")));
        checks.add("getUDTs", con -> Checks.rows(of(con).getUDTs(null, "main", "%", null)));
        checks.add("getBestRowIdentifier", con -> Checks.rows(
            of(con).getBestRowIdentifier(null, "main", "orders", 0, false), "COLUMN_NAME", "TYPE_NAME"));
        checks.add("getVersionColumns", con -> Checks.rows(of(con).getVersionColumns(null, "main", "orders"), "COLUMN_NAME"));
        checks.add("getTablePrivileges", con -> Checks.rows(of(con).getTablePrivileges(null, "main", "orders"), "GRANTEE", "PRIVILEGE"));
        checks.add("getColumnPrivileges", con -> Checks.rows(
            of(con).getColumnPrivileges(null, "main", "orders", "id"), "GRANTEE", "PRIVILEGE"));
        checks.add("getClientInfoProperties", con -> Checks.rows(of(con).getClientInfoProperties(), "NAME"));
        checks.add("product", con -> List.of(of(con).getDatabaseProductName(), of(con).getDatabaseMajorVersion()));
        checks.add("limits", con -> List.of(
            of(con).getMaxColumnNameLength(), of(con).getMaxTableNameLength(), of(con).getMaxIndexLength()));
        checks.add("keywords", con -> of(con).getSQLKeywords().contains("limit"));
        checks.add("user", con -> List.of(of(con).getUserName(), con.getCatalog(), con.getSchema()));
    }

    /** The types that the tables use. */
    static List<List<String>> typesOf(List<List<String>> found) {
        List<String> used = Arrays.asList(
            "bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "bytea", "date", "time",
            "timestamp", "timestamptz", "interval", "uuid", "json", "_int4", "_text");
        List<List<String>> kept = new ArrayList<>();
        for (List<String> each : found) if (used.contains(each.get(0))) kept.add(each);
        kept.sort((a, b) -> a.get(0).compareTo(b.get(0)));
        return kept;
    }

    void keys() {
        String[] imported = {"PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "KEY_SEQ", "FK_NAME", "PK_NAME",
            "UPDATE_RULE", "DELETE_RULE", "DEFERRABILITY"};
        checks.add("getPrimaryKeys", con -> Checks.rows(
            of(con).getPrimaryKeys(null, "main", "orders"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"));
        checks.add("getPrimaryKeys_composite", con -> Checks.rows(
            of(con).getPrimaryKeys(null, "main", "order_lines"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"));
        checks.add("getImportedKeys", con -> Checks.rows(of(con).getImportedKeys(null, "main", "orders"), imported));
        checks.add("getExportedKeys", con -> Checks.rows(of(con).getExportedKeys(null, "main", "orders"), imported));
        checks.add("getCrossReference", con -> Checks.rows(
            of(con).getCrossReference(null, "main", "customers", null, "main", "orders"), imported));
        checks.add("getIndexInfo", con -> Checks.rows(
            of(con).getIndexInfo(null, "main", "order_lines", false, false),
            "INDEX_NAME", "NON_UNIQUE", "ORDINAL_POSITION", "COLUMN_NAME", "TYPE", "ASC_OR_DESC"));
        checks.add("getIndexInfo_unique", con -> Checks.rows(
            of(con).getIndexInfo(null, "main", "orders", true, false), "INDEX_NAME", "COLUMN_NAME"));
    }
}
