-- What PostgreSQL knows of the server: databases, roles, languages, access methods, clients.
CREATE MACRO _pg.rows.pg_database() AS TABLE SELECT database_oid AS oid, database_name AS datname, 10 AS datdba, 6 AS encoding, 'c' AS datlocprovider,
  false AS datistemplate, true AS datallowconn, -1 AS datconnlimit, 1663 AS dattablespace, 'C' AS datcollate, 'C' AS datctype
  FROM duckdb_databases() WHERE database_name = current_database();
CREATE MACRO _pg.rows.pg_tablespace() AS TABLE SELECT * FROM (VALUES (1663, 'pg_default', 10), (1664, 'pg_global', 10)) t (oid, spcname, spcowner);
CREATE MACRO _pg.rows.pg_am() AS TABLE SELECT * FROM (VALUES (2, 'heap', 'heap_tableam_handler', 't'), (403, 'btree', 'bthandler', 'i')) t (oid, amname, amhandler, amtype);
CREATE MACRO _pg.rows.pg_language() AS TABLE SELECT * FROM (VALUES (12, 'internal', 10, false, false), (14, 'sql', 10, false, true)) t (oid, lanname, lanowner, lanispl, lanpltrusted);
CREATE MACRO _pg.rows.pg_collation() AS TABLE SELECT oid, collname, 11 AS collnamespace, 10 AS collowner, provider AS collprovider, true AS collisdeterministic,
  -1 AS collencoding, locale AS collcollate, locale AS collctype
  FROM (VALUES (100, 'default', 'd', NULL), (950, 'C', 'c', 'C'), (951, 'POSIX', 'c', 'POSIX')) t (oid, collname, provider, locale);
CREATE MACRO _pg.rows.pg_opclass() AS TABLE SELECT oid, 403 AS opcmethod, opcname, 11 AS opcnamespace, 10 AS opcowner, opcfamily, opcintype, true AS opcdefault,
  0 AS opckeytype FROM _pg.own.opclasses;

-- Settings with the client's own values of them.
CREATE MACRO _pg.cat.settings_of(own) AS TABLE SELECT s.name, coalesce(map_extract_value(own, s.name), s.setting) AS setting, NULL::VARCHAR AS unit, 'Client' AS category,
    NULL::VARCHAR AS short_desc, NULL::VARCHAR AS extra_desc, 'user' AS context, s.vartype, 'default' AS source, NULL::VARCHAR AS min_val,
    NULL::VARCHAR AS max_val, NULL::VARCHAR[] AS enumvals, s.setting AS boot_val, s.setting AS reset_val, NULL::VARCHAR AS sourcefile,
    NULL::INTEGER AS sourceline, false AS pending_restart FROM _pg.own.settings s;

-- Roles: the owner of everything, and whoever asks.
CREATE MACRO _pg.cat.roles_of(reader, is_admin) AS TABLE SELECT rolname, is_admin AS rolsuper, true AS rolinherit, is_admin AS rolcreaterole,
    is_admin AS rolcreatedb, login AS rolcanlogin, false AS rolreplication, -1 AS rolconnlimit, NULL::VARCHAR AS rolpassword,
    NULL::TIMESTAMPTZ AS rolvaliduntil, false AS rolbypassrls, NULL::VARCHAR[] AS rolconfig, oid
  FROM (VALUES ('duckdb', false, 10), (reader, true, 16384)) r (rolname, login, oid) WHERE oid = 16384 OR reader <> 'duckdb';
CREATE MACRO _pg.cat.users_of(reader, is_admin) AS TABLE SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper,
    false AS userepl, false AS usebypassrls, NULL::VARCHAR AS passwd, NULL::TIMESTAMPTZ AS valuntil, NULL::VARCHAR[] AS useconfig
  FROM _pg.cat.roles_of(reader, is_admin);

-- The clients, as whoever asks may see them (activity.py), and what stops them.
CREATE MACRO _pg.cat.activity_of() AS TABLE SELECT (SELECT any_value(database_oid) FROM duckdb_databases()
    WHERE database_name = current_database()) AS datid, current_database() AS datname, c.pid, NULL::INTEGER AS leader_pid, 10 AS usesysid, c.usename,
    c.application_name, c.client_addr, NULL::VARCHAR AS client_hostname, NULL::INTEGER AS client_port, c.backend_start, NULL::TIMESTAMPTZ AS xact_start,
    c.query_start, c.query_start AS state_change, NULL::VARCHAR AS wait_event_type, NULL::VARCHAR AS wait_event, c.state, NULL::BIGINT AS backend_xid,
    NULL::BIGINT AS backend_xmin, NULL::BIGINT AS query_id, c.query, 'client backend' AS backend_type
  FROM (SELECT unnest(_pg_activity(current_connection_id()), recursive := true)) c;
CREATE MACRO _pg.cat.pg_cancel_backend(pid) AS _pg_signal(current_connection_id(), pid, 'cancel');
CREATE MACRO _pg.cat.pg_terminate_backend(pid) AS _pg_signal(current_connection_id(), pid, 'terminate');

-- What the client has prepared: by PREPARE, which DuckDB knows, and in messages (activity.py).
CREATE MACRO _pg.rows.pg_prepared_statements() AS TABLE
  SELECT name, statement, NULL::TIMESTAMPTZ AS prepare_time, parameter_types, true AS from_sql, 0::BIGINT AS generic_plans, 0::BIGINT AS custom_plans
  FROM duckdb_prepared_statements()
UNION ALL
  SELECT c.name, c.statement, c.prepare_time, c.parameter_types, false, 0, 0
  FROM (SELECT unnest(_pg_prepared(current_connection_id()), recursive := true)) c;
