-- Schemas, tables, views, sequences and columns of the connection's current database and of its temporary tables.
CREATE MACRO _pg.rows.pg_class() AS TABLE
  SELECT oid, name AS relname, schema_oid AS relnamespace, _pg.own.row_type_of(oid) AS reltype, 10 AS relowner, am AS relam,
    CASE kind WHEN 'v' THEN 0 ELSE oid END AS relfilenode, reltuples,
    has_index AS relhasindex, CASE WHEN temporary THEN 't' ELSE 'p' END AS relpersistence, kind AS relkind,
    column_count AS relnatts, num_checks AS relchecks, kind = 'v' AS relhasrules, true AS relispopulated,
    CASE kind WHEN 'r' THEN 'd' ELSE 'n' END AS relreplident,
    (schema_oid, name) IN (SELECT (schema_oid, unnest([table_name, referenced_table])) FROM duckdb_constraints()
      WHERE constraint_type = 'FOREIGN KEY') AS relhastriggers -- psql shows foreign keys only of tables that have triggers
  FROM _pg.own.relations()
UNION ALL BY NAME
  SELECT oid, name AS relname, schema_oid AS relnamespace, 0 AS reltype, 10 AS relowner, 403 AS relam, oid AS relfilenode, 0 AS reltuples,
    false AS relhasindex, false AS relhastriggers, CASE WHEN temporary THEN 't' ELSE 'p' END AS relpersistence, 'i' AS relkind,
    size AS relnatts, 0 AS relchecks, false AS relhasrules, true AS relispopulated, 'n' AS relreplident
  FROM _pg.own.index_names()
UNION ALL BY NAME
  SELECT oid, name AS relname, CASE schema_name WHEN 'pg_catalog' THEN 11 ELSE 13000 END AS relnamespace, 0 AS reltype, 10 AS relowner,
    CASE kind WHEN 'r' THEN 2 ELSE 0 END AS relam, 0 AS relfilenode, 0 AS reltuples, kind = 'r' AS relhasindex, false AS relhastriggers, 'p' AS relpersistence,
    kind AS relkind, size AS relnatts, 0 AS relchecks, kind = 'v' AS relhasrules, true AS relispopulated, 'n' AS relreplident
  FROM _pg.own.catalog_relations;

CREATE MACRO _pg.rows.pg_attribute() AS TABLE
  SELECT table_oid AS attrelid, column_name AS attname, type_oid AS atttypid, -1 AS attstattarget, typlen AS attlen,
    column_index AS attnum, dimensions AS attndims, -1 AS attcacheoff, typmod AS atttypmod, typbyval AS attbyval,
    typalign AS attalign, typstorage AS attstorage, '' AS attcompression, NOT is_nullable AS attnotnull,
    default_text IS NOT NULL AS atthasdef, '' AS attidentity, CASE WHEN is_generated THEN 's' ELSE '' END AS attgenerated,
    true AS attislocal, typcollation AS attcollation
  FROM _pg.own.columns()
UNION ALL BY NAME
  SELECT oid AS attrelid, column_names[place] AS attname, coalesce(types[keys[place]].oid, 25) AS atttypid, -1 AS attstattarget,
    coalesce(types[keys[place]].len, -1) AS attlen, place AS attnum, 0 AS attndims, -1 AS attcacheoff, coalesce(types[keys[place]].typmod, -1) AS atttypmod,
    coalesce(types[keys[place]].byval, false) AS attbyval, coalesce(types[keys[place]].align, 'i') AS attalign,
    coalesce(types[keys[place]].storage, 'x') AS attstorage, '' AS attcompression, false AS attnotnull, false AS atthasdef, '' AS attidentity,
    '' AS attgenerated, true AS attislocal, coalesce(types[keys[place]].collation, 100) AS attcollation
  FROM (SELECT *, unnest(range(1, length(keys) + 1)) AS place FROM _pg.own.indexes())
UNION ALL BY NAME SELECT * FROM _pg.own.catalog_attributes;

CREATE MACRO _pg.rows.pg_attrdef() AS TABLE SELECT _pg.own.default_of(table_oid, column_index) AS oid, table_oid AS adrelid, column_index AS adnum,
  CASE WHEN is_generated THEN _pg.own.plain_text(default_text) ELSE _pg.own.default_in_words(default_text, _pg.own.word(typname, 0)) END AS adbin FROM _pg.own.columns() WHERE default_text IS NOT NULL;

CREATE MACRO _pg.rows.pg_sequence() AS TABLE SELECT sequence_oid AS seqrelid, 20 AS seqtypid, start_value AS seqstart, increment_by AS seqincrement,
  max_value AS seqmax, min_value AS seqmin, 1 AS seqcache, cycle AS seqcycle FROM duckdb_sequences() WHERE _pg.own.shown(database_name);

CREATE MACRO _pg.rows.pg_description() AS TABLE
  SELECT oid AS objoid, 1259 AS classoid, 0 AS objsubid, comment AS description FROM _pg.own.relations() WHERE comment IS NOT NULL
UNION ALL SELECT oid, 1259, 0, comment FROM _pg.own.indexes() WHERE comment IS NOT NULL
UNION ALL SELECT table_oid, 1259, column_index, comment FROM _pg.own.columns() WHERE comment IS NOT NULL
UNION ALL SELECT oid, 1247, 0, comment FROM _pg.own.enums() WHERE comment IS NOT NULL
UNION ALL SELECT oid, 2615, 0, comment FROM duckdb_schemas() WHERE comment IS NOT NULL AND database_name = current_database();

CREATE MACRO _pg.own.views() AS TABLE SELECT view_oid AS oid, schema_name, view_name, _pg.own.plain_text(regexp_extract(sql,
  '(?is)^CREATE\s+(?:TEMP\s+)?VIEW\s+(?:"(?:[^"]|"")*"|[^\s"(])+\s*(?:\((?:"(?:[^"]|"")*"|[^)"])*\)\s*)?AS\s+(.*?;?)$', 1)) AS definition
  FROM duckdb_views() WHERE NOT internal AND _pg.own.shown(database_name);

CREATE MACRO _pg.rows.pg_tables() AS TABLE SELECT n.nspname AS schemaname, c.relname AS tablename, 'duckdb' AS tableowner, c.relhasindex AS hasindexes,
  false AS hasrules, false AS hastriggers, false AS rowsecurity
  FROM _pg.rows.pg_class() c JOIN _pg.rows.pg_namespace() n ON n.oid = c.relnamespace WHERE c.relkind = 'r';
CREATE MACRO _pg.rows.pg_views() AS TABLE SELECT n.nspname AS schemaname, c.relname AS viewname, 'duckdb' AS viewowner, v.definition
  FROM _pg.rows.pg_class() c JOIN _pg.rows.pg_namespace() n ON n.oid = c.relnamespace JOIN _pg.own.views() v ON v.oid = c.oid;
CREATE MACRO _pg.rows.pg_sequences() AS TABLE SELECT schema_name AS schemaname, sequence_name AS sequencename, 'duckdb' AS sequenceowner,
  'bigint' AS data_type, start_value, min_value, max_value, increment_by, cycle, 1 AS cache_size, last_value
  FROM duckdb_sequences() WHERE _pg.own.shown(database_name);

CREATE MACRO _pg.rows.pg_index() AS TABLE
  SELECT oid AS indexrelid, table_oid AS indrelid, length(keys) AS indnatts, length(keys) AS indnkeyatts, is_unique AS indisunique,
    is_primary AS indisprimary, true AS indimmediate, true AS indisvalid, true AS indisready, true AS indislive, keys AS indkey,
    list_transform(keys, lambda k: coalesce(types[k].collation, 100)) AS indcollation,
    list_transform(keys, lambda k: coalesce(map_extract_value(opclasses, coalesce(types[k].oid, 25)), 0)) AS indclass,
    list_transform(keys, lambda k: 0) AS indoption, CASE WHEN list_contains(keys, 0) THEN _pg.own.joined(list_filter(parts,
      lambda p, n: keys[n] = 0), ', ') END AS indexprs
  FROM _pg.own.indexes(), _pg.own.opclasses_by_type;
