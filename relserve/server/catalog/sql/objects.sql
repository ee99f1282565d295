-- Object identifiers. DuckDB's start at 20000 and are unique over all attached databases, so that they never meet PostgreSQL's own;
-- what DuckDB gives none (array and row types, labels, defaults, constraints, and their indexes) gets one above them.
CREATE MACRO _pg.own.array_of(o) AS 200000000 + o;
CREATE MACRO _pg.own.row_array_of(o) AS 600000000 + o;
CREATE MACRO _pg.own.row_type_of(o) AS 400000000 + o;
CREATE MACRO _pg.own.label_of(o, n) AS 600000000 + o * 256 + n;
CREATE MACRO _pg.own.default_of(o, n) AS 1000000000 + o * 256 + n;
CREATE MACRO _pg.own.constraint_of(o, n) AS 1400000000 + o * 64 + n;
CREATE MACRO _pg.own.constraint_index_of(o, n) AS 1800000000 + o * 64 + n;

-- Tables, views and sequences of the connection's current database and of its temporary ones. How many rows a
-- table has is told to those who may read it.
CREATE MACRO _pg.own.relations() AS TABLE
  SELECT table_oid AS oid, table_name AS name, schema_oid, schema_name, 'r' AS kind, temporary, -1 AS reltuples, column_count, comment,
    has_primary_key OR index_count > 0 AS has_index, check_constraint_count AS num_checks, 2 AS am
  FROM duckdb_tables() WHERE NOT internal AND _pg.own.shown(database_name)
UNION ALL
  SELECT view_oid, view_name, schema_oid, schema_name, 'v', temporary, -1, column_count, comment, false, 0, 0
  FROM duckdb_views() WHERE NOT internal AND _pg.own.shown(database_name)
UNION ALL
  SELECT sequence_oid, sequence_name, schema_oid, schema_name, 'S', temporary, 1, 3, comment, false, 0, 0
  FROM duckdb_sequences() WHERE _pg.own.shown(database_name);

-- The schema of temporary tables is there once the connection has some.
CREATE MACRO _pg.rows.pg_namespace() AS TABLE
  SELECT oid, schema_name AS nspname, 10 AS nspowner FROM duckdb_schemas() WHERE database_name = current_database()
    AND schema_name NOT IN ('pg_catalog', 'information_schema')
UNION ALL SELECT DISTINCT schema_oid, 'pg_temp_1', 10 FROM duckdb_tables() WHERE temporary
UNION ALL SELECT * FROM (VALUES (11, 'pg_catalog', 10), (99, 'pg_toast', 10), (13000, 'information_schema', 10));
