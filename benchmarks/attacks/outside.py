"""SQL that reads what it may not: files, hidden tables, Python's variables, the session and the catalog.

@SECRET@ stands for a planted file, @FOLDER@ for its folder, @PORT@ for a port on which somebody listens.
"""

from __future__ import annotations

SOURCES = (
    "read_text('@SECRET@')",
    "read_csv('@SECRET@')",
    "'@SECRET@'",
    '"@SECRET@"',
    "hidden",
    "variable_of_python",
    "other.main.hidden",
    "reads_file('@SECRET@')",
)
# Every place of a SELECT in which a table, or a query, can stand.
PLACES = (
    "FROM {}",
    "SELECT * FROM beers, {}",
    "SELECT * FROM beers LEFT JOIN {} ON true",
    "SELECT * FROM beers POSITIONAL JOIN {}",
    "SELECT * FROM beers, LATERAL (SELECT * FROM {}) x",
    "SELECT (SELECT min(COLUMNS(*))::VARCHAR FROM {})",
    "SELECT 1 WHERE EXISTS (FROM {})",
    "SELECT name FROM beers WHERE name IN (FROM {})",
    "SELECT name FROM beers ORDER BY (SELECT count(*) FROM {})",
    "SELECT name FROM beers LIMIT (SELECT count(*) FROM {})",
    "SELECT count(*) FROM beers GROUP BY (SELECT count(*) FROM {})",
    "SELECT count(*) FROM beers HAVING (SELECT count(*) FROM {}) > 0",
    "SELECT name FROM beers QUALIFY row_number() OVER (ORDER BY (SELECT count(*) FROM {})) = 1",
    "SELECT CASE WHEN (SELECT count(*) > 0 FROM {}) THEN 1 END",
    "SELECT count(*) FILTER ((SELECT count(*) > 0 FROM {})) FROM beers",
    "SELECT list(x) FROM (FROM {}) x",
    "WITH x AS (FROM {}) FROM x",
    "WITH x AS MATERIALIZED (FROM {}) FROM x",
    "WITH x AS (FROM y), y AS (SELECT 1), z AS (FROM {}) FROM z",
    "WITH RECURSIVE x AS (SELECT 'a' AS a UNION ALL SELECT y::VARCHAR FROM {} y) SELECT * FROM x LIMIT 10",
    "SELECT name FROM beers UNION ALL FROM {}",
    "SELECT name FROM beers EXCEPT SELECT y::VARCHAR FROM {} y",
    "VALUES ((SELECT count(*) FROM {}))",
    "FROM range((SELECT count(*) FROM {}))",
    "SELECT unnest((SELECT list(y) FROM {} y))",
    "FROM (FROM {}) PIVOT (count(*) FOR name IN ('a'))",
    "UNPIVOT (FROM {}) ON COLUMNS(*) INTO NAME n VALUE v",
    "SELECT * FROM (SUMMARIZE FROM {})",
    "SELECT * FROM (DESCRIBE FROM {})",
    "SELECT * FROM {} TABLESAMPLE 50%",
    "EXPLAIN ANALYZE FROM {}",
)

FILES = """
FROM '/etc/passwd'
FROM read_text('/etc/passwd')
FROM read_text(['@SECRET@', '/etc/passwd'])
FROM read_blob('@SECRET@')
FROM system.main.READ_TEXT('@SECRET@')
FROM main.read_text('@SECRET@')
FROM "read_text"('@SECRET@')
FROM read_csv_auto('@SECRET@')
FROM sniff_csv('@SECRET@')
FROM read_json('@SECRET@')
FROM read_json_auto('@SECRET@')
FROM read_ndjson_objects('@SECRET@')
FROM read_parquet('@FOLDER@/*.parquet')
FROM parquet_scan('@FOLDER@/secret.parquet')
FROM '@FOLDER@/*.parquet'
FROM "@FOLDER@/secret.parquet"
FROM parquet_metadata('@FOLDER@/secret.parquet')
FROM parquet_kv_metadata('@FOLDER@/secret.parquet')
FROM read_duckdb('@FOLDER@/other.duckdb')
FROM '@FOLDER@/other.duckdb'
FROM glob('@FOLDER@/*')
SELECT file FROM glob('/etc/*')
FROM read_csv('http://127.0.0.1:@PORT@/x.csv')
FROM 'http://127.0.0.1:@PORT@/x.parquet'
FROM 's3://bucket/x.parquet'
SELECT * FROM query('FROM read_te' || 'xt(''@SECRET@'')')
SELECT * FROM query_table('@SECRET@')
SELECT * FROM query_table('hidden')
SELECT * FROM query_table(['hidden', 'hidden'])
FROM json_execute_serialized_sql(json_serialize_sql('FROM hidden'))
SELECT json_serialize_plan('FROM hidden')
SELECT json_serialize_sql('FROM hidden')
SELECT reads_hidden()
SELECT name.reads_hidden() FROM beers
FROM reads_hidden_rows()
SELECT lower(name) FROM beers
SELECT * FROM seq_scan('hidden')
FROM python_map_function()
FROM arrow_scan(1, 2, 3)
FROM pandas_scan(1)
""".strip().splitlines()

TABLES = """
FROM main.hidden
FROM shop.hidden
FROM shop.main.hidden
FROM SHOP.MAIN.HIDDEN
FROM "Hidden"
FROM h\u0131dden
FROM hi\u200bdden
FROM \uff48\uff49\uff44\uff44\uff45\uff4e
FROM hidden AT (VERSION => 1)
FROM other.hidden
FROM temp.main.hidden_too
FROM hidden_too
FROM hidden_schema.hidden
WITH hidden AS (FROM hidden) FROM hidden
WITH a AS (FROM hidden), hidden AS (SELECT 1) FROM a
WITH hidden AS (SELECT 1) FROM main.hidden
WITH RECURSIVE hidden AS (FROM hidden UNION ALL SELECT 'x') FROM hidden LIMIT 5
(WITH hidden AS (SELECT 'x') FROM hidden) UNION ALL FROM hidden
SELECT * FROM (WITH hidden AS (SELECT 1) SELECT 1), hidden
SELECT (WITH hidden AS (SELECT 1) SELECT 1) FROM hidden
WITH a AS (WITH hidden AS (SELECT 1) FROM hidden) SELECT * FROM a, hidden
WITH b AS (SELECT 1) SELECT * FROM b, (WITH b AS (FROM hidden) FROM b)
WITH RECURSIVE r AS (SELECT 's' AS s UNION SELECT s FROM recurring.hidden) FROM r
FROM sqlite_master
FROM sqlite_schema
FROM information_schema.tables
FROM information_schema.columns
FROM pg_catalog.pg_class
FROM pg_tables
FROM duckdb_tables
FROM duckdb_tables()
FROM duckdb_columns()
FROM duckdb_views()
FROM duckdb_constraints()
FROM duckdb_settings()
FROM duckdb_secrets()
FROM duckdb_functions()
FROM duckdb_variables()
FROM duckdb_logs
FROM duckdb_temporary_files()
FROM duckdb_databases()
FROM duckdb_prepared_statements()
FROM duckdb_table_sample('hidden')
FROM pragma_table_info('hidden')
FROM pragma_storage_info('hidden')
FROM pragma_show('hidden')
FROM which_secret('s3://x', 's3')
FROM (SHOW ALL TABLES)
FROM (SHOW TABLES)
FROM (DESCRIBE hidden)
FROM (SUMMARIZE hidden)
SELECT enum_range(NULL::secret_mood)
FROM beers PIVOT (count(*) FOR name IN secret_mood)
""".strip().splitlines()

SESSION = """
SELECT getvariable('secret_variable')
SELECT getenv('TEXT2SQL_SECRET')
SELECT current_setting('home_directory')
SELECT current_setting('custom_user_agent')
SELECT current_query()
SELECT current_schemas(true)
SELECT current_database()
SELECT txid_current()
SELECT nextval('numbers')
SELECT currval('numbers')
SELECT setval('numbers', 7)
SELECT setseed(0.1)
SELECT write_log('@SECRET@')
SELECT sleep_ms(100000)
SELECT pg_sleep(100)
SELECT error('x')
SELECT pg_get_viewdef(1)
SELECT llm('Say {}', name) FROM beers
SELECT asks(name) FROM beers
SELECT upper(1)
SELECT $1
SELECT ?
EXECUTE secret_statement
SELECT finalize(x) FROM (SELECT sum(score) EXPORT_STATE AS x FROM beers)
SELECT variant_bytes_to_variant('x'::BLOB)
SELECT list_aggregate([1], name) FROM beers
SELECT list_aggregate([1], 'combine_aggr')
SELECT 'x'::inet
SELECT NULL::main.secret_mood
SELECT make_type('inet')
SELECT name COLLATE nowhere FROM beers
SELECT list_transform([1], lambda x: asks('y'))
SELECT asks(x) FOR x IN [1]
SELECT [asks(x) FOR x IN ['a']]
SELECT COLUMNS(lambda c: asks(c) = 'x') FROM beers
SELECT st_read('@SECRET@')
SELECT load_extension('x')
""".strip().splitlines()

READS = (
    *(place.format(source) for place in PLACES for source in SOURCES),
    *FILES,
    *TABLES,
    *SESSION,
)
