-- Keys, checks and indexes. DuckDB names a constraint after its columns, whatever its creator called it; primary and foreign keys
-- get the name that PostgreSQL would have made up.
CREATE VIEW _pg.own.constraints AS
  SELECT _pg.own.constraint_of(table_oid, number) AS oid, _pg.own.constraint_index_of(table_oid, number) AS index_oid, * EXCLUDE (constraint_name),
    list_transform(constraint_column_indexes, lambda i: (i + 1)::SMALLINT) AS keys,
    CASE kind WHEN 'p' THEN table_name || '_pkey'
      WHEN 'f' THEN table_name || '_' || array_to_string(constraint_column_names, '_') || '_fkey'
      WHEN 'c' THEN CASE length(constraint_column_names) WHEN 1 THEN constraint_name ELSE table_name || '_check' END
      ELSE constraint_name END AS plain_name
  FROM (SELECT *, row_number() OVER (PARTITION BY table_oid ORDER BY constraint_index) AS number
    FROM (SELECT DISTINCT ON (table_oid, constraint_text) *, lower(constraint_type[1]) AS kind
      FROM duckdb_constraints() WHERE constraint_type <> 'NOT NULL' AND _pg.own.shown(database_name) ORDER BY constraint_index));

CREATE VIEW _pg.own.named_constraints AS SELECT * EXCLUDE (plain_name), plain_name || CASE WHEN repeated = 0 THEN '' ELSE repeated::VARCHAR END AS name
  FROM (SELECT *, row_number() OVER (PARTITION BY table_oid, plain_name ORDER BY number) - 1 AS repeated FROM _pg.own.constraints);

CREATE VIEW _pg.own.indexes AS
  SELECT index_oid AS oid, index_name AS name, schema_oid, schema_name, table_oid, table_name, is_unique, false AS is_primary, comment, parts, sql,
    database_name = 'temp' AS temporary,
    list_transform(parts, lambda p: coalesce(list_position(columns, _pg.own.unquoted(p)), 0)::SMALLINT) AS keys,
    list_transform(parts, lambda p: CASE WHEN list_contains(columns, _pg.own.unquoted(p)) THEN _pg.own.unquoted(p) ELSE 'expr' END) AS column_names
  FROM (SELECT * EXCLUDE (expressions), expressions::VARCHAR[] AS parts FROM duckdb_indexes() WHERE _pg.own.shown(database_name)) i
  JOIN (SELECT table_oid AS columns_of, list(column_name ORDER BY column_index) AS columns FROM duckdb_columns() GROUP BY ALL) ON columns_of = table_oid
UNION ALL BY NAME
  SELECT index_oid AS oid, name, schema_oid, schema_name, table_oid, table_name, true AS is_unique, kind = 'p' AS is_primary,
    database_name = 'temp' AS temporary, keys, constraint_column_names AS parts, constraint_column_names AS column_names, NULL AS comment
  FROM _pg.own.named_constraints WHERE kind IN ('p', 'u');

CREATE VIEW _pg.rows.pg_constraint AS
  SELECT c.oid, c.name AS conname, c.schema_oid AS connamespace, c.kind AS contype, true AS convalidated, c.table_oid AS conrelid,
    CASE c.kind WHEN 'f' THEN coalesce(r.index_oid, 0) WHEN 'c' THEN 0 ELSE c.index_oid END AS conindid,
    coalesce(t.table_oid, 0) AS confrelid, CASE c.kind WHEN 'f' THEN 'a' ELSE ' ' END AS confupdtype,
    CASE c.kind WHEN 'f' THEN 'a' ELSE ' ' END AS confdeltype, CASE c.kind WHEN 'f' THEN 's' ELSE ' ' END AS confmatchtype,
    true AS conislocal, c.kind <> 'c' AS connoinherit, c.keys AS conkey, CASE c.kind WHEN 'f' THEN list_transform(c.referenced_column_names,
      lambda n: list_position(t.columns, n)::SMALLINT) END AS confkey, c.expression AS conbin
  FROM _pg.own.named_constraints c
  LEFT JOIN (SELECT table_oid, schema_oid, table_name, list(column_name ORDER BY column_index) AS columns FROM duckdb_columns() GROUP BY ALL) t
    ON c.kind = 'f' AND t.schema_oid = c.schema_oid AND t.table_name = c.referenced_table
  LEFT JOIN _pg.own.named_constraints r ON c.kind = 'f' AND r.kind IN ('p', 'u') AND r.table_oid = t.table_oid
    AND r.constraint_column_names = c.referenced_column_names;

CREATE VIEW _pg.rows.pg_index AS
  SELECT oid AS indexrelid, table_oid AS indrelid, length(keys) AS indnatts, length(keys) AS indnkeyatts, is_unique AS indisunique,
    is_primary AS indisprimary, true AS indimmediate, true AS indisvalid, true AS indisready, true AS indislive, keys AS indkey,
    list_transform(keys, lambda k: 0) AS indcollation, list_transform(keys, lambda k: 0) AS indclass,
    list_transform(keys, lambda k: 0) AS indoption, CASE WHEN list_contains(keys, 0) THEN array_to_string(list_filter(parts,
      lambda p, n: keys[n] = 0), ', ') END AS indexprs
  FROM _pg.own.indexes;
