-- Keys, checks and indexes. DuckDB names a constraint after its columns, whatever its creator called it; primary and foreign keys
-- get the name that PostgreSQL would have made up.
CREATE MACRO _pg.own.constraints() AS TABLE
  SELECT _pg.own.constraint_of(table_oid, number) AS oid, _pg.own.constraint_index_of(table_oid, number) AS index_oid, * EXCLUDE (constraint_name),
    list_transform(constraint_column_indexes, lambda i: (i + 1)::SMALLINT) AS keys,
    CASE kind WHEN 'p' THEN table_name || '_pkey'
      WHEN 'f' THEN table_name || '_' || _pg.own.joined(constraint_column_names, '_') || '_fkey'
      WHEN 'c' THEN CASE length(constraint_column_names) WHEN 1 THEN constraint_name ELSE table_name || '_check' END
      ELSE constraint_name END AS plain_name
  FROM (SELECT *, row_number() OVER (PARTITION BY table_oid ORDER BY constraint_index) AS number
    FROM (SELECT DISTINCT ON (table_oid, constraint_text) *, lower(constraint_type[1]) AS kind
      FROM duckdb_constraints() WHERE constraint_type <> 'NOT NULL' AND _pg.own.shown(database_name) ORDER BY constraint_index));

CREATE MACRO _pg.own.named_constraints() AS TABLE SELECT * EXCLUDE (plain_name), plain_name || CASE WHEN repeated = 0 THEN '' ELSE repeated::VARCHAR END AS name
  FROM (SELECT *, row_number() OVER (PARTITION BY table_oid, plain_name ORDER BY number) - 1 AS repeated FROM _pg.own.constraints());

-- Indexes that were made, and those that PostgreSQL would have made for a key.
CREATE MACRO _pg.own.index_names() AS TABLE
  SELECT index_oid AS oid, index_name AS name, schema_oid, length(expressions::VARCHAR[]) AS size, comment, database_name = 'temp' AS temporary
  FROM duckdb_indexes() WHERE _pg.own.shown(database_name)
UNION ALL
  SELECT index_oid, name, schema_oid, length(keys), NULL, database_name = 'temp' FROM _pg.own.named_constraints() WHERE kind IN ('p', 'u');

-- Of each table its columns, in order: their names, and what an index over them needs to know.
CREATE MACRO _pg.own.column_lists() AS TABLE SELECT table_oid AS columns_of, list(column_name ORDER BY column_index) AS columns,
    list({'oid': type_oid, 'len': typlen, 'byval': typbyval, 'align': typalign, 'storage': typstorage, 'collation': typcollation, 'typmod': typmod}
      ORDER BY column_index) AS types FROM _pg.own.columns() GROUP BY ALL;
CREATE TABLE _pg.own.opclasses_by_type AS SELECT map_from_entries(list({'key': opcintype, 'value': oid})) AS opclasses FROM _pg.own.opclasses;

CREATE MACRO _pg.own.indexes() AS TABLE
  SELECT *, list_transform(parts, lambda p: coalesce(list_position(columns, _pg.own.unquoted(p)), 0)::SMALLINT) AS keys,
    list_transform(parts, lambda p: CASE WHEN list_contains(columns, _pg.own.unquoted(p)) THEN _pg.own.unquoted(p)
      ELSE coalesce(nullif(regexp_extract(p, '^\W*(\w+)\(', 1), ''), 'expr') END) AS column_names
  FROM (
    SELECT index_oid AS oid, index_name AS name, schema_oid, schema_name, table_oid, table_name, is_unique, false AS is_primary, comment,
      expressions::VARCHAR[] AS parts FROM duckdb_indexes() WHERE _pg.own.shown(database_name)
    UNION ALL
    SELECT index_oid, name, schema_oid, schema_name, table_oid, table_name, true, kind = 'p', NULL, constraint_column_names
    FROM _pg.own.named_constraints() WHERE kind IN ('p', 'u')) JOIN _pg.own.column_lists() ON columns_of = table_oid;

CREATE MACRO _pg.rows.pg_constraint() AS TABLE
  SELECT c.oid, c.name AS conname, c.schema_oid AS connamespace, c.kind AS contype, true AS convalidated, c.table_oid AS conrelid,
    CASE c.kind WHEN 'f' THEN coalesce(r.index_oid, 0) WHEN 'c' THEN 0 ELSE c.index_oid END AS conindid,
    coalesce(t.table_oid, 0) AS confrelid, CASE c.kind WHEN 'f' THEN 'a' ELSE ' ' END AS confupdtype,
    CASE c.kind WHEN 'f' THEN 'a' ELSE ' ' END AS confdeltype, CASE c.kind WHEN 'f' THEN 's' ELSE ' ' END AS confmatchtype,
    true AS conislocal, c.kind <> 'c' AS connoinherit, c.keys AS conkey, CASE c.kind WHEN 'f' THEN list_transform(c.referenced_column_names,
      lambda n: list_position(t.columns, n)::SMALLINT) END AS confkey, c.expression AS conbin
  FROM _pg.own.named_constraints() c
  LEFT JOIN (SELECT table_oid, schema_oid, table_name, list(column_name ORDER BY column_index) AS columns FROM duckdb_columns() GROUP BY ALL) t
    ON c.kind = 'f' AND t.schema_oid = c.schema_oid AND t.table_name = c.referenced_table
  LEFT JOIN _pg.own.named_constraints() r ON c.kind = 'f' AND r.kind IN ('p', 'u') AND r.table_oid = t.table_oid
    AND r.constraint_column_names = c.referenced_column_names;

-- A foreign key depends on the index of the key that it points to, and an index on the constraint that it is made for: DBD::Pg looks here.
CREATE MACRO _pg.rows.pg_depend() AS TABLE
  SELECT 2606 AS classid, oid AS objid, 0 AS objsubid, 1259 AS refclassid, conindid AS refobjid, 0 AS refobjsubid, 'n' AS deptype
  FROM _pg.rows.pg_constraint() WHERE contype = 'f' AND conindid <> 0
UNION ALL SELECT 1259, conindid, 0, 2606, oid, 0, 'i' FROM _pg.rows.pg_constraint() WHERE contype IN ('p', 'u') AND conindid <> 0;
