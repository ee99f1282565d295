-- Schemas, tables, views, sequences and columns of the connection's current database and of its temporary tables.
CREATE VIEW _pg.rows.pg_namespace AS
  SELECT oid, schema_name AS nspname, 10 AS nspowner FROM duckdb_schemas() WHERE database_name = current_database()
    AND schema_name NOT IN ('pg_catalog', 'information_schema')
UNION ALL SELECT oid, 'pg_temp_1', 10 FROM duckdb_schemas() WHERE database_name = 'temp' AND schema_name = 'main'
UNION ALL SELECT * FROM (VALUES (11, 'pg_catalog', 10), (99, 'pg_toast', 10), (13000, 'information_schema', 10));

CREATE VIEW _pg.own.columns AS
  SELECT c.table_oid, c.schema_oid, c.schema_name, c.table_name, c.column_name, c.column_index, c.comment, c.is_nullable, c.data_type,
    c.is_generated, coalesce(c.generation_expression, c.column_default) AS default_text, _pg.own.dimensions(c.data_type) AS dimensions,
    _pg.own.typmod(c.data_type) AS typmod, CASE WHEN _pg.own.dimensions(c.data_type) > 0 THEN coalesce(b.typarray, _pg.own.array_of(e.oid), 1009)
      ELSE coalesce(b.oid, e.oid, 25) END AS type_oid, coalesce(e.oid IS NOT NULL, false) AS is_enum
  FROM duckdb_columns() c LEFT JOIN _pg.own.type_names n ON n.duckdb_name = _pg.own.base_name(c.data_type)
  LEFT JOIN _pg.own.builtin_types b ON b.typname = n.typname
  LEFT JOIN (SELECT written, min(oid) AS oid FROM _pg.own.enums GROUP BY written) e ON e.written = regexp_replace(c.data_type, '(\[\d*\])+$', '')
  WHERE NOT c.internal AND _pg.own.shown(c.database_name);

CREATE VIEW _pg.own.relations AS
  SELECT table_oid AS oid, table_name AS name, schema_oid, schema_name, 'r' AS kind, temporary, estimated_size AS size, column_count, comment,
    has_primary_key OR index_count > 0 AS has_index, check_constraint_count AS num_checks, 2 AS am
  FROM duckdb_tables() WHERE NOT internal AND _pg.own.shown(database_name)
UNION ALL
  SELECT view_oid, view_name, schema_oid, schema_name, 'v', temporary, 0, column_count, comment, false, 0, 0
  FROM duckdb_views() WHERE NOT internal AND _pg.own.shown(database_name)
UNION ALL
  SELECT sequence_oid, sequence_name, schema_oid, schema_name, 'S', temporary, 1, 3, comment, false, 0, 0
  FROM duckdb_sequences() WHERE _pg.own.shown(database_name);

CREATE VIEW _pg.rows.pg_class AS
  SELECT oid, name AS relname, schema_oid AS relnamespace, _pg.own.row_type_of(oid) AS reltype, 10 AS relowner, am AS relam,
    CASE kind WHEN 'v' THEN 0 ELSE oid END AS relfilenode, CASE WHEN size = 0 THEN -1 ELSE size END AS reltuples,
    has_index AS relhasindex, CASE WHEN temporary THEN 't' ELSE 'p' END AS relpersistence, kind AS relkind,
    column_count AS relnatts, num_checks AS relchecks, kind = 'v' AS relhasrules, true AS relispopulated,
    CASE kind WHEN 'r' THEN 'd' ELSE 'n' END AS relreplident,
    (schema_oid, name) IN (SELECT (schema_oid, unnest([table_name, referenced_table])) FROM duckdb_constraints()
      WHERE constraint_type = 'FOREIGN KEY') AS relhastriggers -- psql shows foreign keys only of tables that have triggers
  FROM _pg.own.relations
UNION ALL BY NAME
  SELECT oid, name AS relname, schema_oid AS relnamespace, 10 AS relowner, 403 AS relam, oid AS relfilenode, 0 AS reltuples,
    false AS relhasindex, CASE WHEN temporary THEN 't' ELSE 'p' END AS relpersistence, 'i' AS relkind,
    length(keys) AS relnatts, 0 AS relchecks, false AS relhasrules, true AS relispopulated, 'n' AS relreplident
  FROM _pg.own.indexes;

CREATE VIEW _pg.rows.pg_attribute AS
  SELECT c.table_oid AS attrelid, c.column_name AS attname, c.type_oid AS atttypid, -1 AS attstattarget, t.typlen AS attlen,
    c.column_index AS attnum, c.dimensions AS attndims, -1 AS attcacheoff, c.typmod AS atttypmod, t.typbyval AS attbyval,
    t.typalign AS attalign, t.typstorage AS attstorage, '' AS attcompression, NOT c.is_nullable AS attnotnull,
    c.default_text IS NOT NULL AS atthasdef, '' AS attidentity, CASE WHEN c.is_generated THEN 's' ELSE '' END AS attgenerated,
    true AS attislocal, t.typcollation AS attcollation
  FROM _pg.own.columns c JOIN (SELECT oid, typlen, typbyval, typalign, typstorage, typcollation FROM _pg.own.all_types) t ON t.oid = c.type_oid
UNION ALL BY NAME
  SELECT i.oid AS attrelid, i.column_names[i.place] AS attname, coalesce(c.type_oid, 25) AS atttypid, -1 AS attstattarget,
    coalesce(t.typlen, -1) AS attlen, i.place AS attnum, 0 AS attndims, -1 AS attcacheoff, coalesce(c.typmod, -1) AS atttypmod,
    coalesce(t.typbyval, false) AS attbyval, coalesce(t.typalign, 'i') AS attalign, coalesce(t.typstorage, 'x') AS attstorage,
    '' AS attcompression, false AS attnotnull, false AS atthasdef, '' AS attidentity, '' AS attgenerated, true AS attislocal,
    coalesce(t.typcollation, 100) AS attcollation
  FROM (SELECT *, unnest(range(1, length(keys) + 1)) AS place FROM _pg.own.indexes) i
  LEFT JOIN _pg.own.columns c ON c.table_oid = i.table_oid AND c.column_index = i.keys[i.place]
  LEFT JOIN _pg.own.all_types t ON t.oid = c.type_oid;

CREATE VIEW _pg.rows.pg_attrdef AS SELECT _pg.own.default_of(table_oid, column_index) AS oid, table_oid AS adrelid, column_index AS adnum,
  default_text AS adbin FROM _pg.own.columns WHERE default_text IS NOT NULL;

CREATE VIEW _pg.rows.pg_sequence AS SELECT sequence_oid AS seqrelid, 20 AS seqtypid, start_value AS seqstart, increment_by AS seqincrement,
  max_value AS seqmax, min_value AS seqmin, 1 AS seqcache, cycle AS seqcycle FROM duckdb_sequences() WHERE _pg.own.shown(database_name);

CREATE VIEW _pg.rows.pg_description AS
  SELECT oid AS objoid, 1259 AS classoid, 0 AS objsubid, comment AS description FROM _pg.own.relations WHERE comment IS NOT NULL
UNION ALL SELECT oid, 1259, 0, comment FROM _pg.own.indexes WHERE comment IS NOT NULL
UNION ALL SELECT table_oid, 1259, column_index, comment FROM _pg.own.columns WHERE comment IS NOT NULL
UNION ALL SELECT oid, 1247, 0, comment FROM _pg.own.enums WHERE comment IS NOT NULL
UNION ALL SELECT oid, 2615, 0, comment FROM duckdb_schemas() WHERE comment IS NOT NULL AND database_name = current_database();

CREATE VIEW _pg.own.views AS SELECT view_oid AS oid, schema_name, view_name, regexp_extract(sql,
  '(?is)^CREATE\s+(?:TEMP\s+)?VIEW\s+(?:"(?:[^"]|"")*"|[^\s"(])+\s*(?:\((?:"(?:[^"]|"")*"|[^)"])*\)\s*)?AS\s+(.*?;?)$', 1) AS definition
  FROM duckdb_views() WHERE NOT internal AND _pg.own.shown(database_name);

CREATE VIEW _pg.rows.pg_tables AS SELECT n.nspname AS schemaname, c.relname AS tablename, 'duckdb' AS tableowner, c.relhasindex AS hasindexes,
  false AS hasrules, false AS hastriggers, false AS rowsecurity
  FROM _pg.rows.pg_class c JOIN _pg.rows.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r';
CREATE VIEW _pg.rows.pg_views AS SELECT n.nspname AS schemaname, c.relname AS viewname, 'duckdb' AS viewowner, v.definition
  FROM _pg.rows.pg_class c JOIN _pg.rows.pg_namespace n ON n.oid = c.relnamespace JOIN _pg.own.views v ON v.oid = c.oid;
CREATE VIEW _pg.rows.pg_sequences AS SELECT schema_name AS schemaname, sequence_name AS sequencename, 'duckdb' AS sequenceowner,
  'bigint' AS data_type, start_value, min_value, max_value, increment_by, cycle, 1 AS cache_size, last_value
  FROM duckdb_sequences() WHERE _pg.own.shown(database_name);
