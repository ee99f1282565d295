"""SQL that changes something: tables, the catalog, files, settings; alone, in company, or disguised."""

from __future__ import annotations

ALONE = """
CREATE TABLE x (a INT)
CREATE TABLE x AS FROM beers
CREATE OR REPLACE TABLE beers AS SELECT 1
CREATE TEMP TABLE x AS FROM beers
CREATE TABLE IF NOT EXISTS x (a INT)
CREATE VIEW x AS FROM hidden
CREATE OR REPLACE VIEW beers AS SELECT 1
CREATE MACRO x() AS (FROM hidden)
CREATE OR REPLACE MACRO twice(x) AS x
CREATE FUNCTION x() AS TABLE FROM hidden
CREATE SCHEMA x
CREATE SEQUENCE x
CREATE TYPE x AS ENUM ('a')
CREATE INDEX x ON beers (name)
CREATE TRIGGER x AFTER INSERT ON beers INSERT INTO hidden SELECT 1
CREATE SECRET x (TYPE http)
CREATE PERSISTENT SECRET x (TYPE http)
DROP TABLE beers
DROP TABLE IF EXISTS beers CASCADE
DROP VIEW IF EXISTS best
DROP SCHEMA main CASCADE
DROP MACRO twice
DROP SEQUENCE numbers
DROP TYPE secret_mood
ALTER TABLE beers ADD COLUMN x INT
ALTER TABLE beers DROP COLUMN name
ALTER TABLE beers RENAME TO x
ALTER TABLE beers RENAME COLUMN name TO x
ALTER VIEW best RENAME TO x
COMMENT ON TABLE beers IS 'x'
TRUNCATE beers
DELETE FROM beers
DELETE FROM beers WHERE true RETURNING name
INSERT INTO beers VALUES ('x', 1)
INSERT OR REPLACE INTO beers VALUES ('x', 1)
INSERT INTO beers BY NAME SELECT 'x' AS name
INSERT INTO beers FROM beers RETURNING *
UPDATE beers SET score = 0
UPDATE beers SET score = 0 RETURNING *
MERGE INTO beers USING beers b ON beers.name = b.name WHEN MATCHED THEN DELETE
WITH x AS (SELECT 1) DELETE FROM beers
WITH x AS (SELECT 'x' AS name, 1 AS score) INSERT INTO beers FROM x
WITH x AS (INSERT INTO beers VALUES ('x', 1) RETURNING *) FROM x
WITH x AS (UPDATE beers SET score = 0 RETURNING *) FROM x
WITH x AS (DELETE FROM beers RETURNING *) FROM x
WITH x AS MATERIALIZED (DELETE FROM beers RETURNING *) SELECT 1
WITH x AS (MERGE INTO beers USING beers b ON beers.name = b.name WHEN MATCHED THEN DELETE RETURNING *) FROM x
SELECT (WITH x AS (DELETE FROM beers RETURNING *) SELECT count(*) FROM x)
SELECT * FROM beers WHERE EXISTS (WITH x AS (DELETE FROM beers RETURNING *) FROM x)
SELECT * FROM (DELETE FROM beers RETURNING *)
WITH x AS (COPY beers TO '@FOLDER@/out.csv') SELECT 1
WITH x AS MATERIALIZED (COPY beers TO '@FOLDER@/out.csv') SELECT 1
WITH x AS (COPY hidden TO '@FOLDER@/out.parquet') FROM beers
SELECT (WITH x AS (COPY beers TO '@FOLDER@/out.csv') SELECT 1)
FROM (WITH x AS (COPY beers TO '@FOLDER@/out.csv') SELECT 1)
SELECT 1 UNION ALL (WITH x AS (COPY beers TO '@FOLDER@/out.csv') SELECT 1)
COPY beers TO '@FOLDER@/out.csv'
COPY beers TO '@DATABASE@' (USE_TMP_FILE false)
COPY (FROM hidden) TO '/dev/stdout'
COPY beers FROM '@SECRET@'
COPY FROM DATABASE shop TO other
EXPORT DATABASE '@FOLDER@/out'
IMPORT DATABASE '@FOLDER@/out'
ATTACH '@FOLDER@/new.duckdb' AS x
ATTACH '@FOLDER@/other.duckdb' AS y (READ_ONLY)
ATTACH ':memory:' AS x
DETACH other
USE other
INSTALL httpfs
FORCE INSTALL httpfs FROM community
LOAD httpfs
LOAD '@FOLDER@/x.duckdb_extension'
UPDATE EXTENSIONS
SET threads = 1
SET GLOBAL memory_limit = '1TB'
SET enable_external_access = true
SET lock_configuration = true
SET python_enable_replacements = true
SET VARIABLE secret_variable = 'x'
SET search_path = 'other'
RESET threads
RESET VARIABLE secret_variable
PRAGMA enable_profiling
PRAGMA memory_limit = '1TB'
PRAGMA database_list
PRAGMA table_info('hidden')
PRAGMA import_database('@FOLDER@')
CALL pragma_version()
CALL enable_logging()
CALL force_checkpoint()
FROM enable_logging()
FROM checkpoint()
FROM truncate_duckdb_logs()
FROM enable_profiling()
CHECKPOINT
FORCE CHECKPOINT
VACUUM
ANALYZE
BEGIN
COMMIT
ROLLBACK
PREPARE x AS DELETE FROM beers
DEALLOCATE secret_statement
EXPLAIN ANALYZE DELETE FROM beers
EXPLAIN ANALYZE COPY beers TO '@FOLDER@/out.csv'
EXPLAIN (ANALYZE, FORMAT JSON) INSERT INTO beers VALUES ('x', 1)
DESCRIBE hidden
SHOW TABLES
SHOW ALL TABLES
SUMMARIZE hidden
PIVOT beers ON name
CREATE TABLE x AS PIVOT beers ON name
SELECT 1 INTO x
""".strip().splitlines()

# A change, after or around something harmless.
DISGUISES = (
    "SELECT 1; {}",
    "{}; SELECT 1",
    "SELECT 1;; {};",
    "SELECT 1;\n-- harmless\n{}",
    "SELECT 1 /* ; */; {}",
    "/* SELECT 1 */ {}",
    "/* /* nested */ */ {}",
    "-- SELECT 1\r{}\n",
    "-- SELECT 1\n{}",
    "SELECT 1 --\n; {}",
    "SELECT ';'; {}",
    "SELECT $$;$$; {}",
    "SELECT E'\\''; {} --'",
    'SELECT 1 AS ";"; {}',
    "SELECT 1\u2028; {}",
    "SELECT 1\0; {}",
    "\ufeff{}",
    "SELECT 1\uff1b {}",
    "SELECT 1; {} -- SELECT",
    "WITH x AS (SELECT 1) {}",
    "WITH x AS ({}) SELECT 1",
    "WITH x AS ({} RETURNING *) FROM x",
    "SELECT ({})",
    "SELECT * FROM ({})",
    "(({}))",
    "EXPLAIN ANALYZE {}",
    "PREPARE p AS {}; EXECUTE p",
    "BEGIN; {}; COMMIT",
    "ROLLBACK; {}",
    "SELECT * FROM query('{}')",
)
DISGUISED = (
    "DROP TABLE beers",
    "DELETE FROM beers",
    "INSERT INTO beers VALUES (1, 2)",
    "COPY beers TO '@FOLDER@/out.csv'",
)
LOOK_ALIKES = (
    "\uff24\uff32\uff2f\uff30 TABLE beers",
    "DR\u041eP TABLE beers",
    "DROP\u00a0TABLE\u00a0beers",
    "DROP/**/TABLE/**/beers",
    "dRoP tAbLe beers",
    "SELECT 1 \u037e DROP TABLE beers",
    "SELECT '\u02bc; DROP TABLE beers; --'; DROP TABLE beers",
    "D\u200bROP TABLE beers",
)

WRITES = (
    *ALONE,
    *(disguise.format(text) for disguise in DISGUISES for text in DISGUISED),
    *LOOK_ALIKES,
)
