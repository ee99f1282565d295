"""What the made-up texts would do, and around what: templates whose words have one blank between them.

A name with @ before it may stand in quotes, a string in single quotes may be written in other ways, and each
blank may be any that DuckDB takes for one.
"""

from __future__ import annotations

# Rows of what is not the user's, wherever a query may stand.
QUERIES = """
SELECT content FROM @read_text ( 'secret.txt' )
SELECT content FROM @system . @main . @read_blob ( 'secret.txt' )
SELECT count(*) FROM @glob ( '*' )
SELECT count(*) FROM @read_csv ( 'secret.csv' )
SELECT count(*) FROM @read_csv_auto ( 'secret.csv' )
SELECT count(*) FROM @read_json ( 'secret.json' )
SELECT count(*) FROM @read_ndjson_objects ( 'secret.json' )
SELECT count(*) FROM @sniff_csv ( 'secret.csv' )
SELECT count(*) FROM @read_parquet ( 'secret.parquet' )
SELECT count(*) FROM @parquet_schema ( 'secret.parquet' )
SELECT count(*) FROM @query ( 'FROM read_csv(''secret.csv'')' )
SELECT count(*) FROM @json_execute_serialized_sql ( json_serialize_sql ( 'FROM read_csv(''secret.csv'')' ) )
SELECT count(*) FROM t , LATERAL ( SELECT * FROM @read_text ( 'secret.txt' ) )
SELECT max(content) FROM @read_text ( [ 'secret.txt' ] )
SELECT @__llm_1 ( 'x' )
SELECT @_pg_signal ( 999 , 1 , 'cancel' )
SELECT count(*) FROM @enable_logging ( )
SELECT count(*) FROM @checkpoint ( )
SELECT @write_log ( 'x' )
SELECT count(*) FROM @pandas_scan ( 0 )
SELECT count(*) FROM @test_vector_types ( 1 )
""".strip().splitlines()
# Statements that may stand in a WITH, too.
WITHIN = """
COPY t TO 'out.csv' ( FORMAT csv , USE_TMP_FILE false )
COPY ( SELECT 1 AS a ) TO 'out.csv'
COPY ( FROM t ) TO 'shop.db' ( USE_TMP_FILE false )
COPY @t TO 'out.parquet' ( FORMAT parquet )
INSERT INTO @_pg . own . settings SELECT 'x' , 'y' , 'z'
DELETE FROM @_pg . @own . settings
UPDATE @_pg . own . settings SET setting = 'x'
""".strip().splitlines()
STATEMENTS = """
COPY t FROM 'secret.csv'
COPY ( PIVOT t ON a USING count(*) ) TO 'out.csv'
EXPORT DATABASE 'exported'
IMPORT DATABASE 'imported'
COPY FROM DATABASE shop TO memory
ATTACH 'other.db' AS @other
ATTACH ':memory:' AS @other
ATTACH IF NOT EXISTS 'shop.db' ( READ_ONLY )
DETACH shop
SET GLOBAL TimeZone = 'Asia/Tokyo'
SET threads = 3
SET @memory_limit = '1GB'
SET SESSION enable_profiling = 'no_output'
RESET GLOBAL @TimeZone
SET @schema = 'shop'
SET schema = '_p' || 'g'
SET SCHEMA '_pg'
SET search_path = 'memory.main,_pg.main'
USE @_pg
PRAGMA enable_profiling = 'no_output'
PRAGMA memory_limit = '1GB'
PRAGMA @enable_verification
PRAGMA force_checkpoint
PRAGMA table_info ( 't' )
CALL @enable_logging ( )
CALL pragma_version ( )
CREATE SECRET @s ( TYPE http )
CREATE OR REPLACE TEMPORARY SECRET s ( TYPE http )
LOAD 'x.duckdb_extension'
LOAD parquet
CREATE OR REPLACE MACRO @_pg . own . quoted ( n ) AS n
CREATE TABLE @_pg . own . mine ( a INT )
DROP MACRO @_pg . own . quoted
TRUNCATE @_pg . own . settings
ALTER DATABASE @shop SET ALIAS TO other
CREATE TRIGGER tr AFTER INSERT ON t INSERT INTO u SELECT 1
CHECKPOINT
FORCE CHECKPOINT
VACUUM
VACUUM ANALYZE
""".strip().splitlines()
# For all users: what runs in the sessions of others, and names that they have.
DEFINITIONS = """
CREATE TABLE x ( a INT , q VARCHAR DEFAULT @current_query ( ) )
CREATE TABLE x ( a INT , q VARCHAR DEFAULT upper ( @getvariable ( 'v' ) ) )
CREATE TABLE x ( a INT , @) VARCHAR AS ( @current_setting ( 'TimeZone' ) ) )
CREATE TABLE x ( a INT CHECK ( length ( @current_query ( ) ) > a ) )
CREATE OR REPLACE TABLE t ( a INT , b VARCHAR DEFAULT @current_setting ( 'TimeZone' ) )
CREATE TABLE IF NOT EXISTS x ( a INT , CONSTRAINT c CHECK ( @current_query ( ) <> 'x' ) )
ALTER TABLE t ADD COLUMN q VARCHAR DEFAULT @current_query ( )
ALTER TABLE t ALTER COLUMN b SET DEFAULT @getvariable ( 'v' )
ALTER TABLE t ALTER b SET DEFAULT lower ( @current_query ( ) )
CREATE VIEW x AS SELECT @current_query ( ) AS q
CREATE OR REPLACE VIEW @x AS FROM @duckdb_variables ( )
CREATE VIEW x ( q ) AS WITH a AS ( SELECT @getvariable ( 'v' ) ) FROM a
CREATE MACRO @x ( ) AS @current_query ( )
CREATE MACRO x ( a ) AS a , ( a , b ) AS @getvariable ( 'v' )
CREATE FUNCTION x ( ) AS TABLE FROM @duckdb_prepared_statements ( )
CREATE MACRO x ( a := @current_query ( ) ) AS a
CREATE MACRO x ( ) AS asked ( )
CREATE TABLE x ( a INT , q VARCHAR DEFAULT asked ( ) )
CREATE TABLE x ( a INT , q VARCHAR DEFAULT @llm ( 'Say' ) )
CREATE TABLE x ( a INT , q VARCHAR DEFAULT upper ( ( 'Say' ) . @llm ( ) ) )
CREATE TABLE x ( a VARCHAR CHECK ( @llm ( 'Is it?' , a := a , model := 'http://127.0.0.1:9/v1' ) <> '' ) )
CREATE TABLE x ( a VARCHAR , q VARCHAR AS ( @llm ( a ) ) )
CREATE TABLE x ( a INT DEFAULT @twice ( 1 ) )
CREATE TABLE x ( a INT , b INT CHECK ( @main . @twice ( b ) > 0 ) )
ALTER TABLE t ADD COLUMN q VARCHAR DEFAULT @llm ( 'Say' )
ALTER TABLE t ALTER b SET DEFAULT @llm ( 'Say' )
CREATE INDEX i ON t ( ( @twice ( a ) ) )
CREATE MACRO @sum ( x ) AS 42
CREATE OR REPLACE MACRO main . @lower ( x ) AS 'x'
CREATE MACRO IF NOT EXISTS @shop . main . @upper ( x ) AS 'x'
CREATE FUNCTION @duckdb_tables ( ) AS TABLE SELECT 1
CREATE MACRO @+ ( a , b ) AS 99
CREATE MACRO 'length' ( x ) AS 42
CREATE MACRO @llm ( x ) AS x
CREATE VIEW @duckdb_columns AS SELECT 1 AS a
CREATE TABLE @duckdb_views ( a INT )
CREATE TYPE @json AS ENUM ( 'a' )
CREATE SCHEMA @system
ALTER TABLE t RENAME TO @duckdb_indexes
ALTER VIEW v RENAME TO duckdb_tables
""".strip().splitlines()
# What anybody may do.
HARMLESS = """
SELECT a , b FROM t WHERE b <> 'COPY t TO ''x''' ORDER BY a
SELECT 'read_text(''secret.txt'')' AS @copy , sum ( a ) AS @query FROM t
SELECT @lower ( b ) , @sum ( a ) FROM @t GROUP BY ALL
WITH a AS ( SELECT 1 AS n ) SELECT n , '_pg' FROM a
WITH a AS ( INSERT INTO u VALUES ( 3 ) RETURNING a ) FROM a
INSERT INTO t VALUES ( 1 , 'COPY' ) , ( 2 , '' )
UPDATE t SET b = 'secret' WHERE a = 1
DELETE FROM u WHERE a IN ( SELECT a FROM t )
MERGE INTO u USING t ON t . a = u . a WHEN MATCHED THEN DELETE
CREATE TABLE x AS SELECT @current_query ( ) AS q , getvariable ( 'v' ) AS v
CREATE TEMP TABLE x ( q VARCHAR DEFAULT @current_query ( ) )
CREATE TEMP MACRO @sum ( x ) AS 42
CREATE OR REPLACE TEMPORARY VIEW @duckdb_views AS SELECT current_setting ( 'TimeZone' ) AS z
CREATE TABLE x ( a INT DEFAULT 3 , made TIMESTAMP DEFAULT now ( ) , CHECK ( a > 0 ) )
CREATE VIEW x AS SELECT count(*) AS @copy FROM t
CREATE MACRO x ( a ) AS a + 1
CREATE SCHEMA IF NOT EXISTS other
CREATE INDEX i ON t ( a )
ALTER TABLE t ADD COLUMN c INT DEFAULT 3
ALTER TABLE u RENAME TO @rows
DROP VIEW v
PREPARE p AS SELECT a FROM t WHERE b = 'x'
PIVOT t ON a USING count(*)
SUMMARIZE t
DESCRIBE @t
SHOW TABLES
SET @search_path = 'main'
SET TimeZone = 'UTC'
SET VARIABLE v = 'secret'
PRAGMA version
CALL pragma_database_size ( )
EXPLAIN ANALYZE SELECT max ( a ) FROM t
EXPLAIN ( FORMAT json ) SELECT 'COPY'
FROM query_table ( 't' )
FROM duckdb_tables ( )
SELECT current_setting ( 'TimeZone' ) , @getvariable ( 'v' )
SELECT relname FROM pg_class WHERE relname = 't'
SELECT pid , pg_cancel_backend ( pid ) FROM pg_stat_activity
BEGIN
ROLLBACK
""".strip().splitlines()
# Around a query, and around a statement in a WITH: where a reader that is out of step sees a string.
AROUND_QUERIES = (
    ("SELECT{b}e'\\'' AS q , (", ") AS r --'"),
    ("SELECT 1 AS `'` , (", ") AS r --'"),
    ("SELECT 1 AS `it's` ,{b}(", ") AS `it's`"),
    ('SELECT 1 AS "\'" , (', ") AS r --'"),
    ("SELECT $é$'$é$ AS q , (", ") AS r --'"),
    ("SELECT $\U0001f600$'$\U0001f600$ ,{b}(", ") AS r --'"),
    ("SELECT $a$ ' $a$ AS q , (", ") AS r --'"),
    ("SELECT $$ $a$ ' $$ AS q , (", ") AS r --'"),
    ("SELECT /* /* */ ' */ 1 , (", ") AS r --'"),
    ("SELECT 1 -- '\r , (", ") AS r --'"),
    ("SELECT 1 /*{b}'*/ , (", ") AS r --'"),
    ("SELECT '\\' , (", ") AS r --'"),
    ("SELECT E'\\\\' , (", ") AS r --'"),
    ("SELECT map {1: '#}'} , {'a': '{#'} , (", ") AS r --'"),
    ("SELECT 1 AS a$b$ , (", ") AS r , '$b$'"),
    ("SELECT 'x\u00a0' || e'\\'' , (", ") AS r --'"),
    ("SELECT x'00' , N'\\' , (", ") AS r --'"),
    ("SELECT 1 AS é'\\'' , (", ") AS r --'"),
    ("SELECT 1 WHERE 1 IN (", ")"),
    ("SELECT (", ") UNION ALL SELECT NULL"),
    ("CREATE TABLE x AS SELECT (", ") AS q"),
    ("CREATE VIEW x AS SELECT (", ") AS q"),
    ("CREATE MACRO x() AS (", ")"),
    ("INSERT INTO u SELECT 1 WHERE 'x' <> (", ")"),
    ("EXPLAIN ANALYZE SELECT (", ")"),
    ("PREPARE p AS SELECT (", ")"),
    ("PREPARE p AS SELECT (", ") ; EXECUTE p"),
    ("MERGE INTO u USING (", ") s ON true WHEN MATCHED THEN DELETE"),
    ("SET VARIABLE v = (", ")"),
    ("SELECT '; ' , (", ")"),
)
AROUND_STATEMENTS = (
    ("WITH a AS ( SELECT{b}e'\\'' AS q ) , b AS (", ") SELECT 1 --'"),
    ("WITH a AS ( SELECT 1 AS `'` ) , b AS (", ") SELECT 1 --'"),
    ("WITH a AS ( SELECT $é$'$é$ AS q ) , b AS (", ") SELECT 1 --'"),
    ("WITH a AS ( SELECT $\U0001f600$'$\U0001f600$ ) ,{b}b AS (", ") SELECT 1 --'"),
    ("WITH a AS ( SELECT{b}1 /* /* */ ' */ ) , b AS (", ") SELECT 1 --'"),
    ("WITH a AS ( SELECT '\\' AS q ) , b AS (", ") SELECT 1 --'"),
    ("WITH a AS ( SELECT 1 -- '\r ) , b AS (", ") SELECT 1 --'"),
    ("WITH b AS MATERIALIZED (", ") SELECT 1"),
    ("WITH RECURSIVE b ( c ) AS (", ") SELECT 1"),
    ("WITH b AS{b}(", ") INSERT INTO u SELECT 1"),
    ("EXPLAIN ANALYZE ", ""),
    ("EXPLAIN ( ANALYZE , FORMAT json ) ", ""),
    ("EXPLAIN ANALYZE WITH b AS (", ") SELECT 1"),
    ("PREPARE p AS ", " ; EXECUTE p"),
    ("SELECT 1 ;{b}", " ; SELECT 2"),
    ("SELECT '; ' ; ", ""),
    ("BEGIN ; ", " ; COMMIT"),
    ("", ""),
)
