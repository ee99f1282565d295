"""SQL that a plain user must not run, or that must show nothing; the tests of the lock read it, too."""

from __future__ import annotations

# None of these may run. {db} is the database's file.
REFUSED = """
FROM read_text('/etc/passwd')
SELECT * FROM system.main."read_text"/* */('/etc/passwd')
FROM READ_BLOB ('{db}')
FROM read_blob('{db}.tmp/*')
FROM glob('{db}.tmp/*')
FROM read_csv('/etc/passwd')
FROM read_parquet('/etc/passwd')
FROM sniff_csv('/etc/passwd')
FROM parquet_metadata('/etc/passwd')
FROM query('FROM read_te' || 'xt(''/etc/passwd'')')
FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
COPY t TO '{db}' (USE_TMP_FILE false)
COPY t TO '/dev/stdout'
COPY t FROM '/etc/passwd'
COPY (SELECT 1) TO 'out.csv'
EXPLAIN ANALYZE COPY t TO '{db}.wal' (USE_TMP_FILE false)
EXPLAIN (ANALYZE) COPY t TO '{db}.wal' (USE_TMP_FILE false)
PREPARE p AS COPY t TO '{db}.wal' (USE_TMP_FILE false)
WITH x AS (COPY t TO '{db}.wal' (USE_TMP_FILE false)) SELECT 1
WITH x AS MATERIALIZED (COPY t TO '{db}.wal' (USE_TMP_FILE false)) SELECT 1
BEGIN; COPY t TO '{db}.wal' (USE_TMP_FILE false); COMMIT
EXPORT DATABASE 'folder'
IMPORT DATABASE 'folder'
COPY FROM DATABASE a TO b
ATTACH '/etc/passwd' AS x
ATTACH ':memory:' AS x
DETACH x
INSTALL httpfs
FORCE INSTALL httpfs
LOAD httpfs
LOAD './x.so'
UPDATE EXTENSIONS
CREATE SECRET s (TYPE http)
CREATE OR REPLACE PERSISTENT SECRET s (TYPE http)
DROP SECRET s
FROM duckdb_secrets()
SET threads = 1
SET GLOBAL TimeZone = 'Asia/Tokyo'
SET GLOBAL search_path = 'main'
SET memory_limit = '100GB'
SET temp_directory = '/tmp'
SET allowed_directories = ['/']
SET enable_external_access = true
SET lock_configuration = false
SET profiling_output = 'x.json'
SET SESSION enable_profiling = 'json'
RESET threads
RESET GLOBAL TimeZone
PRAGMA enable_profiling = 'json'
PRAGMA enable_profiling
PRAGMA memory_limit = '1GB'
PRAGMA enable_verification
PRAGMA add_parquet_key('k', '0123456789112345')
PRAGMA import_database('x')
PRAGMA force_checkpoint
CALL enable_logging()
FROM enable_logging()
CALL force_checkpoint()
FROM duckdb_logs
FROM duckdb_logs()
FROM truncate_duckdb_logs()
CHECKPOINT
FORCE CHECKPOINT
VACUUM
VACUUM ANALYZE
FROM duckdb_temporary_files()
SELECT __llm_3('p', '{{}}', 1)
SELECT "__LLM_queries_12"(0)
SELECT __llm_connection()
CREATE VIEW v AS SELECT __llm_connection() AS key
CREATE TRIGGER tr AFTER INSERT ON t INSERT INTO u SELECT __llm_connection()
CREATE OR REPLACE TRIGGER tr AFTER INSERT ON t INSERT INTO u SELECT macro_definition FROM duckdb_functions()
SELECT 1; CREATE TRIGGER tr AFTER INSERT ON t INSERT INTO u SELECT value FROM duckdb_variables()
EXPLAIN ANALYZE CREATE TRIGGER tr AFTER INSERT ON t INSERT INTO u SELECT 1
EXPLAIN ANALYZE CHECKPOINT
EXPLAIN ANALYZE SET GLOBAL TimeZone = 'Asia/Tokyo'
EXPLAIN (ANALYZE, FORMAT JSON) VACUUM
EXPLAIN (FORMAT JSON) SET threads = 1
EXPLAIN ANALYZE (FORMAT JSON) LOAD parquet
EXPLAIN /* ( */ ANALYZE CREATE SECRET s (TYPE http)
DROP VIEW _pg.main.pg_class
CREATE OR REPLACE VIEW "_PG".main.pg_class AS SELECT 1
EXPLAIN ANALYZE DROP VIEW _pg.main.pg_class
CREATE OR REPLACE MACRO _pg.main.f() AS 1
DELETE FROM _pg.own.builtin_types
WITH x AS (DELETE FROM _pg.own.builtin_types RETURNING *) FROM x
INSERT INTO _pg.own.builtin_types VALUES (1)
TRUNCATE _pg.own.builtin_types
COMMENT ON VIEW _pg.main.pg_class IS 'x'
CREATE INDEX i ON _pg.own.builtin_types (a)
USE _pg
SET schema = '_pg.main'
CREATE VIEW v AS FROM read_text('/etc/passwd')
CREATE MACRO m(x) AS TABLE FROM read_text(x)
CREATE TABLE copied AS FROM read_csv('/etc/passwd')
DESCRIBE FROM read_csv('/etc/passwd')
FROM `read_text`('/etc/passwd')
FROM "system".`main`.`read_blob`('{db}')
FROM 'duckdb_logs'
CREATE MACRO $$sum$$(x) AS 42
PRAGMA search_path = '_p' || 'g'
COPY (PIVOT t ON a USING count(*)) TO '{db}.wal'
EXPLAIN ANALYZE COPY (PIVOT t ON a USING count(*)) TO '{db}.wal'
SELECT `__llm_connection`()
DELETE FROM `_pg`.own.builtin_types
SELECT _pg_signal(2, 1, 'terminate')
SELECT * FROM (SELECT unnest(`_pg_activity`(2)))
ALTER DATABASE shop SET ALIAS TO other
CREATE TABLE d (a INT, q VARCHAR DEFAULT current_query())
CREATE TABLE d (a INT, q VARCHAR DEFAULT (getvariable('hidden_variable')))
CREATE TABLE d (a INT, q VARCHAR DEFAULT upper("current_setting"('search_path')))
CREATE TABLE d (a INT, q BOOLEAN DEFAULT pg_terminate_backend(1))
CREATE TABLE d (a INT, ")" VARCHAR AS (`current_query`()))
CREATE TABLE d (a INT, CHECK (error(current_query()) IS NULL))
CREATE OR REPLACE TABLE t (a INT DEFAULT length(current_query()))
ALTER TABLE t ADD COLUMN q VARCHAR DEFAULT current_query()
ALTER TABLE t ALTER COLUMN a SET DEFAULT length(getvariable('hidden_variable'))
EXPLAIN ANALYZE ALTER TABLE t ALTER a SET DEFAULT length(current_query())
CREATE VIEW v AS SELECT current_query() AS q
CREATE VIEW v AS FROM duckdb_variables()
CREATE VIEW v AS FROM llm_queries()
CREATE MACRO m() AS getvariable('hidden_variable')
CREATE MACRO m() AS TABLE FROM duckdb_prepared_statements()
CREATE MACRO m(a) AS a, (a, b) AS current_query()
CREATE FUNCTION m(a := current_query()) AS a
CREATE INDEX i ON t ((a + length(current_query())))
CREATE TABLE d (a INT, q VARCHAR DEFAULT llm('Say {{}}', 1, model := 'http://127.0.0.1:9/v1'))
CREATE TABLE d (a VARCHAR CHECK ("llm_filter"('Is {{}}', a)))
CREATE TABLE d (a VARCHAR, q VARCHAR AS (llm/**/('Of {{}}', a)))
CREATE TABLE d (a INT DEFAULT main.some_macro(1))
ALTER TABLE t ADD COLUMN q VARCHAR DEFAULT text2sql_query('How many?')
EXPLAIN ANALYZE ALTER TABLE t ALTER a SET DEFAULT length(llm('x'))
CREATE INDEX i ON t ((llm_int('Of {{}}', a)))
CREATE MACRO "@@@"(x, y) AS llm(x, y)
CREATE MACRO sum(x) AS 42
CREATE OR REPLACE MACRO main."Lower"(x) AS 'x'
CREATE FUNCTION `duckdb_tables`() AS TABLE SELECT 1
CREATE MACRO IF NOT EXISTS "+"(a, b) AS 99
CREATE MACRO 'sum'(x) AS 42
CREATE MACRO llm(x) AS x
EXPLAIN ANALYZE CREATE MACRO sum(x) AS 42
CREATE VIEW duckdb_columns AS SELECT 1
CREATE TABLE pg_class (a INT)
ALTER TABLE t RENAME TO pg_stat_activity
CREATE TYPE json AS ENUM ('a')
CREATE TYPE main."JSONB" AS ENUM ('a')
CREATE SCHEMA system
CREATE SCHEMA IF NOT EXISTS "temp"
""".strip().splitlines()
# Blanks that only DuckDB's parser takes for such, and other ways to have a quote where it is none.
REFUSED += [
    f"WITH a AS (SELECT{blank}e'\\'' AS q), b AS (COPY t TO '{{db}}' (USE_TMP_FILE false)) SELECT 1 --'"
    for blank in "\u00a0\u2003\u200b\u202f\u2060\u3000\ufeff"
]
REFUSED += [
    "CREATE MACRO 'su'\n'm'(x) AS 42",
    "WITH a AS (SELECT 'e\u00a0' || e'\\'' AS q), b AS (COPY t TO '{db}') SELECT 1 --'",
    "WITH a AS (SELECT 1 AS `'`), b AS (COPY t TO '{db}' (USE_TMP_FILE false)) SELECT '1'",
    "WITH a AS (SELECT $\U0001f600$ ' $\U0001f600$), b AS (COPY t TO '{db}') SELECT '1'",
    "WITH a AS (SELECT /* /* ' */ ' */ 1), b AS (COPY t TO '{db}') SELECT '1'",
    "WITH a AS (SELECT 1 -- '\r), b AS (COPY t TO '{db}') SELECT '1'",
    "CREATE\u00a0VIEW v AS SELECT\u00a0e'\\'' AS q, current_query() --'",
]

# Statements one after the other, between &&, for the server's own texts and for other users' things.
ON_A_SERVER = """
SET search_path = '_pg' && DROP VIEW pg_class
CREATE TEMP TABLE "x""; COPY copied TO '{db}' (USE_TMP_FILE false); --" (a INT) && DISCARD ALL && SELECT no
PREPARE "x""; COPY copied TO '{db}' (USE_TMP_FILE false); --" AS SELECT 1 && DEALLOCATE ALL && SELECT no
COPY copied TO '{folder}/out.csv'
COPY copied FROM '/etc/passwd'
COPY _pg.own.settings FROM STDIN
CREATE VIEW all_see AS SELECT * FROM pg_stat_activity
CREATE VIEW all_stop AS SELECT pg_terminate_backend(1)
COPY copied FROM PROGRAM 'id'
COPY copied TO PROGRAM 'cat > {folder}/out.txt'
COPY (SELECT * FROM read_text('/etc/passwd')) TO STDOUT
COPY (WITH x AS (COPY copied TO '{db}' (USE_TMP_FILE false)) SELECT 1) TO STDOUT
DECLARE c CURSOR WITH HOLD FOR SELECT * FROM read_text('/etc/passwd')
SELECT * FROM pg_read_file('/etc/passwd')
SELECT pg_ls_dir('/')
SELECT lo_import('/etc/passwd')
CREATE EXTENSION plpython3u
DO $$ import os $$
LOAD 'auto_explain'
ALTER SYSTEM SET x = 1
SET ROLE root
SET SESSION AUTHORIZATION root
CREATE ROLE root2 SUPERUSER
FROM hidden
SELECT * FROM temp.main.hidden
EXECUTE hidden_statement
FETCH ALL FROM hidden_cursor
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'victim' AND no_such
SELECT llm('Say {{}}', 1, model := 'http://127.0.0.1:{port}/v1')
SELECT llm('Say {{}}', 1, model := '/etc')
SELECT llm('Say {{}}', 1, model := 'tiny')
""".strip().splitlines()
# These may run, and must show nothing of the victim's.
SHOWS_NOTHING = """
SELECT * FROM pg_stat_activity
SELECT * FROM llm_queries()
SELECT * FROM llm_errors()
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_columns()
SELECT * FROM duckdb_views()
SELECT * FROM duckdb_functions()
SELECT * FROM duckdb_prepared_statements()
SELECT * FROM duckdb_variables()
SELECT * FROM duckdb_settings()
SELECT * FROM pg_prepared_statements
SELECT * FROM pg_cursors
SELECT * FROM pg_class
SELECT getvariable('hidden_variable')
SELECT current_setting('hidden.setting', true)
SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'victim'
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'victim'
SELECT pg_terminate_backend(n::INT) FROM range(30) t(n) WHERE n <> pg_backend_pid()
SHOW ALL
EXPLAIN ANALYZE SELECT * FROM duckdb_functions()
""".strip().splitlines()
