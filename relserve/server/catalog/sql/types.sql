-- DuckDB's types by PostgreSQL's: the table of names, and macros from the text of a type to oid, typmod and dimensions.
CREATE TABLE _pg.own.type_names AS SELECT * FROM (VALUES
  ('BOOLEAN', 'bool'), ('TINYINT', 'int2'), ('SMALLINT', 'int2'), ('UTINYINT', 'int2'), ('INTEGER', 'int4'), ('USMALLINT', 'int4'),
  ('BIGINT', 'int8'), ('UINTEGER', 'int8'), ('UBIGINT', 'numeric'), ('HUGEINT', 'numeric'), ('UHUGEINT', 'numeric'),
  ('BIGNUM', 'numeric'), ('DECIMAL', 'numeric'), ('FLOAT', 'float4'), ('DOUBLE', 'float8'), ('VARCHAR', 'text'), ('BLOB', 'bytea'),
  ('DATE', 'date'), ('TIME', 'time'), ('TIME_NS', 'time'), ('TIME WITH TIME ZONE', 'timetz'), ('TIMESTAMP', 'timestamp'),
  ('TIMESTAMP_S', 'timestamp'), ('TIMESTAMP_MS', 'timestamp'), ('TIMESTAMP_NS', 'timestamp'),
  ('TIMESTAMP WITH TIME ZONE', 'timestamptz'), ('INTERVAL', 'interval'), ('UUID', 'uuid'), ('BIT', 'varbit'), ('JSON', 'json'),
  ('STRUCT', 'json'), ('MAP', 'json'), ('UNION', 'json'), ('VARIANT', 'json')) names (duckdb_name, typname);

-- The names that format_type writes where they differ from pg_type's.
CREATE TABLE _pg.own.type_words AS SELECT * FROM (VALUES
  ('bool', 'boolean'), ('int2', 'smallint'), ('int4', 'integer'), ('int8', 'bigint'), ('float4', 'real'),
  ('float8', 'double precision'), ('varchar', 'character varying'), ('bpchar', 'character'), ('varbit', 'bit varying'),
  ('time', 'time without time zone'), ('timetz', 'time with time zone'), ('timestamp', 'timestamp without time zone'),
  ('timestamptz', 'timestamp with time zone'), ('char', '"char"')) words (typname, word);

CREATE TABLE _pg.own.words_by_name AS SELECT map_from_entries(list({'key': typname, 'value': word})) AS words FROM _pg.own.type_words;

CREATE MACRO _pg.own.base_name(t) AS regexp_replace(regexp_replace(t, '(\[\d*\])+$', ''), '\(.*', '', 's');
CREATE MACRO _pg.own.dimensions(t) AS length(regexp_replace(regexp_extract(t, '(\[\d*\])+$'), '[^\[]', '', 'g'));
CREATE MACRO _pg.own.typmod(t) AS CASE WHEN t LIKE 'DECIMAL(%' THEN
  regexp_extract(t, '\((\d+)', 1)::INTEGER * 65536 + regexp_extract(t, ',\s*(\d+)', 1)::INTEGER + 4 ELSE -1 END;

-- From DuckDB's names of types, those of lists included, to oids.
CREATE TABLE _pg.own.oids_by_name AS SELECT map_from_entries(list({'key': name, 'value': oid})) AS oids FROM (
  SELECT n.duckdb_name AS name, b.oid FROM _pg.own.type_names n JOIN _pg.own.builtin_types b USING (typname)
  UNION ALL SELECT n.duckdb_name || '[]', b.typarray FROM _pg.own.type_names n JOIN _pg.own.builtin_types b USING (typname));

-- The user's own named types, which columns show by their definition only; of two with equal labels the first is meant.
CREATE VIEW _pg.own.enums AS SELECT type_oid AS oid, type_name, schema_oid, labels, comment,
  'ENUM(' || list_aggregate(list_transform(labels, lambda l: '''' || replace(l, '''', '''''') || ''''), 'string_agg', ', ') || ')' AS written
  FROM duckdb_types() WHERE NOT internal AND logical_type = 'ENUM' AND database_name IN (current_database(), 'temp');

CREATE VIEW _pg.rows.pg_type AS
  SELECT * EXCLUDE (typelem, typarray, typcollation), typelem, typarray, typcollation,
    11 AS typnamespace, 10 AS typowner, true AS typisdefined, 0 AS typrelid, '-' AS typsubscript, '-' AS typanalyze,
    false AS typnotnull, 0 AS typbasetype, -1 AS typtypmod, 0 AS typndims
  FROM _pg.own.builtin_types
UNION ALL BY NAME
  SELECT oid, type_name AS typname, schema_oid AS typnamespace, 10 AS typowner, 4 AS typlen, true AS typbyval, 'e' AS typtype,
    'E' AS typcategory, false AS typispreferred, true AS typisdefined, ',' AS typdelim, 0 AS typrelid, '-' AS typsubscript,
    0 AS typelem, _pg.own.array_of(oid) AS typarray, 'enum_in' AS typinput, 'enum_out' AS typoutput, 'enum_recv' AS typreceive,
    'enum_send' AS typsend, '-' AS typmodin, '-' AS typmodout, '-' AS typanalyze, 'i' AS typalign, 'p' AS typstorage,
    false AS typnotnull, 0 AS typbasetype, -1 AS typtypmod, 0 AS typndims, 0 AS typcollation FROM _pg.own.enums
UNION ALL BY NAME
  SELECT _pg.own.array_of(oid) AS oid, '_' || type_name AS typname, schema_oid AS typnamespace, 10 AS typowner, -1 AS typlen,
    false AS typbyval, 'b' AS typtype, 'A' AS typcategory, false AS typispreferred, true AS typisdefined, ',' AS typdelim,
    0 AS typrelid, 'array_subscript_handler' AS typsubscript, oid AS typelem, 0 AS typarray, 'array_in' AS typinput,
    'array_out' AS typoutput, 'array_recv' AS typreceive, 'array_send' AS typsend, '-' AS typmodin, '-' AS typmodout,
    'array_typanalyze' AS typanalyze, 'i' AS typalign, 'x' AS typstorage, false AS typnotnull, 0 AS typbasetype, -1 AS typtypmod,
    0 AS typndims, 0 AS typcollation FROM _pg.own.enums;

CREATE VIEW _pg.own.all_types AS SELECT oid, typname, typnamespace, typlen, typbyval, typtype, typcategory, typelem, typarray, typalign, typstorage,
  typcollation FROM _pg.rows.pg_type;

CREATE VIEW _pg.rows.pg_enum AS SELECT _pg.own.label_of(oid, position) AS oid, oid AS enumtypid, position AS enumsortorder, label AS enumlabel
  FROM (SELECT oid, unnest(labels) AS label, unnest(range(1, length(labels) + 1)) AS position FROM _pg.own.enums);

CREATE VIEW _pg.rows.pg_range AS SELECT * FROM (VALUES (3904, 23, 4451, 0), (3906, 1700, 4532, 0), (3908, 1114, 4533, 0),
  (3910, 1184, 4534, 0), (3912, 1082, 4535, 0), (3926, 20, 4536, 0)) ranges (rngtypid, rngsubtype, rngmultitypid, rngcollation);
