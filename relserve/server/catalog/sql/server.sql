-- What PostgreSQL knows of the server: databases, roles, languages, access methods, clients.
CREATE VIEW _pg.rows.pg_database AS SELECT database_oid AS oid, database_name AS datname, 10 AS datdba, 6 AS encoding, 'c' AS datlocprovider,
  false AS datistemplate, true AS datallowconn, -1 AS datconnlimit, 1663 AS dattablespace, 'C' AS datcollate, 'C' AS datctype
  FROM duckdb_databases() WHERE database_name = current_database();
CREATE VIEW _pg.rows.pg_tablespace AS SELECT * FROM (VALUES (1663, 'pg_default', 10), (1664, 'pg_global', 10)) t (oid, spcname, spcowner);
CREATE VIEW _pg.rows.pg_am AS SELECT * FROM (VALUES (2, 'heap', 'heap_tableam_handler', 't'), (403, 'btree', 'bthandler', 'i')) t (oid, amname, amhandler, amtype);
CREATE VIEW _pg.rows.pg_language AS SELECT * FROM (VALUES (12, 'internal', 10, false, false), (14, 'sql', 10, false, true)) t (oid, lanname, lanowner, lanispl, lanpltrusted);
CREATE VIEW _pg.rows.pg_collation AS SELECT oid, collname, 11 AS collnamespace, 10 AS collowner, provider AS collprovider, true AS collisdeterministic,
  -1 AS collencoding, locale AS collcollate, locale AS collctype
  FROM (VALUES (100, 'default', 'd', NULL), (950, 'C', 'c', 'C'), (951, 'POSIX', 'c', 'POSIX')) t (oid, collname, provider, locale);
CREATE VIEW _pg.rows.pg_settings AS SELECT name, value AS setting, 'DuckDB' AS category, description AS short_desc, 'user' AS context,
  CASE input_type WHEN 'BOOLEAN' THEN 'bool' WHEN 'BIGINT' THEN 'integer' WHEN 'UBIGINT' THEN 'integer' WHEN 'DOUBLE' THEN 'real' ELSE 'string' END AS vartype,
  'default' AS source, false AS pending_restart FROM duckdb_settings();
CREATE VIEW _pg.rows.pg_roles AS SELECT 'duckdb' AS rolname, true AS rolsuper, true AS rolinherit, true AS rolcreaterole, true AS rolcreatedb, false AS rolcanlogin,
  false AS rolreplication, -1 AS rolconnlimit, false AS rolbypassrls, 10 AS oid;
CREATE VIEW _pg.rows.pg_user AS SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper, rolreplication AS userepl,
  rolbypassrls AS usebypassrls FROM _pg.rows.pg_roles;
CREATE VIEW _pg.rows.pg_authid AS SELECT * FROM _pg.rows.pg_roles;
-- A function of DuckDB or a macro; PostgreSQL's types of it where DuckDB tells them.
CREATE VIEW _pg.rows.pg_proc AS
  SELECT f.function_oid AS oid, f.function_name AS proname, coalesce(s.oid, 11) AS pronamespace, 10 AS proowner,
    CASE f.function_type WHEN 'macro' THEN 14 WHEN 'table_macro' THEN 14 ELSE 12 END AS prolang, 1 AS procost, CASE WHEN f.function_type LIKE 'table%' THEN 1000 ELSE 0 END AS prorows,
    CASE WHEN f.varargs IS NULL THEN 0 ELSE 25 END AS provariadic, CASE f.function_type WHEN 'aggregate' THEN 'a' ELSE 'f' END AS prokind,
    f.function_type LIKE 'table%' AS proretset, CASE f.stability WHEN 'VOLATILE' THEN 'v' WHEN 'CONSISTENT_WITHIN_QUERY' THEN 's' ELSE 'i' END AS provolatile,
    's' AS proparallel, length(f.parameters) AS pronargs, 0 AS pronargdefaults, coalesce(n.oids[regexp_replace(f.return_type, '\(.*\)', '')], 25) AS prorettype,
    list_transform(f.parameter_types, lambda t: coalesce(n.oids[regexp_replace(t, '\(.*\)', '')], 25)) AS proargtypes, f.parameters AS proargnames,
    coalesce(f.macro_definition, f.function_name) AS prosrc, f.macro_definition AS prosqlbody, f.description AS comment
  FROM _pg.own.oids_by_name n, duckdb_functions() f LEFT JOIN duckdb_schemas() s ON s.database_name = f.database_name AND s.schema_name = f.schema_name AND NOT f.internal
  WHERE f.database_name IN (current_database(), 'temp', 'system') AND f.function_type NOT IN ('pragma');
-- The clients, as a user may see them (activity.py).
CREATE MACRO _pg.cat.activity_of(reader, is_admin, seal) AS TABLE SELECT (SELECT any_value(database_oid) FROM duckdb_databases()
    WHERE database_name = current_database()) AS datid, current_database() AS datname, c.pid, NULL::INTEGER AS leader_pid, 10 AS usesysid, c.usename,
    c.application_name, c.client_addr, NULL::VARCHAR AS client_hostname, NULL::INTEGER AS client_port, c.backend_start, NULL::TIMESTAMPTZ AS xact_start,
    c.query_start, c.query_start AS state_change, NULL::VARCHAR AS wait_event_type, NULL::VARCHAR AS wait_event, c.state, NULL::BIGINT AS backend_xid,
    NULL::BIGINT AS backend_xmin, NULL::BIGINT AS query_id, c.query, 'client backend' AS backend_type
  FROM (SELECT unnest(_pg_activity(reader, is_admin, seal), recursive := true)) c;
