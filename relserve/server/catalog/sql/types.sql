-- DuckDB's types by PostgreSQL's: the table of names, and macros from the text of a type to oid, typmod and dimensions.
CREATE TABLE _pg.own.type_names AS SELECT * FROM (VALUES
  ('BOOLEAN', 'bool'), ('TINYINT', 'int2'), ('SMALLINT', 'int2'), ('UTINYINT', 'int2'), ('INTEGER', 'int4'), ('USMALLINT', 'int4'),
  ('BIGINT', 'int8'), ('UINTEGER', 'int8'), ('UBIGINT', 'numeric'), ('HUGEINT', 'numeric'), ('UHUGEINT', 'numeric'),
  ('BIGNUM', 'numeric'), ('DECIMAL', 'numeric'), ('FLOAT', 'float4'), ('DOUBLE', 'float8'), ('VARCHAR', 'text'), ('BLOB', 'bytea'),
  ('DATE', 'date'), ('TIME', 'time'), ('TIME_NS', 'time'), ('TIME WITH TIME ZONE', 'timetz'), ('TIMESTAMP', 'timestamp'),
  ('TIMESTAMP_S', 'timestamp'), ('TIMESTAMP_MS', 'timestamp'), ('TIMESTAMP_NS', 'timestamp'),
  ('TIMESTAMP WITH TIME ZONE', 'timestamptz'), ('INTERVAL', 'interval'), ('UUID', 'uuid'), ('BIT', 'varbit'), ('JSON', 'json'),
  ('STRUCT', 'json'), ('MAP', 'json'), ('UNION', 'json'), ('VARIANT', 'json')) names (duckdb_name, typname);

-- The name that format_type writes of a type.
CREATE MACRO _pg.own.word(n, o) AS CASE WHEN o >= 20000 THEN _pg.own.quoted(n) ELSE CASE n WHEN 'bool' THEN 'boolean' WHEN 'int2' THEN 'smallint'
  WHEN 'int4' THEN 'integer' WHEN 'int8' THEN 'bigint' WHEN 'float4' THEN 'real' WHEN 'float8' THEN 'double precision'
  WHEN 'varchar' THEN 'character varying' WHEN 'bpchar' THEN 'character' WHEN 'varbit' THEN 'bit varying' WHEN 'time' THEN 'time without time zone'
  WHEN 'timetz' THEN 'time with time zone' WHEN 'timestamp' THEN 'timestamp without time zone' WHEN 'timestamptz' THEN 'timestamp with time zone'
  WHEN 'char' THEN '"char"' WHEN 'any' THEN '"any"' ELSE n END END;

CREATE MACRO _pg.own.base_name(t) AS regexp_replace(regexp_replace(t, '(\[\d*\])+$', ''), '\(.*', '', 's');
-- The name in known_types, as the results of statements have it (`pg_type` of `wire`): json is what an array cannot hold.
CREATE MACRO _pg.own.known_name(t) AS CASE WHEN regexp_matches(t, '^(STRUCT|MAP|UNION|VARIANT)\b.*\]$|\]\[\d*\]$', 's') THEN 'JSON'
  ELSE _pg.own.base_name(t) || CASE WHEN t LIKE '%]' THEN '[]' ELSE '' END END;
CREATE MACRO _pg.own.dimensions(t) AS CASE WHEN _pg.own.known_name(t) LIKE '%]' THEN 1 ELSE 0 END;
CREATE MACRO _pg.own.numeric_typmod(precision, scale) AS precision::INTEGER * 65536 + scale::INTEGER + 4;
CREATE MACRO _pg.own.typmod(t) AS CASE replace(_pg.own.known_name(t), '[]', '')
  WHEN 'DECIMAL' THEN _pg.own.numeric_typmod(regexp_extract(t, '\((\d+)', 1), regexp_extract(t, ',\s*(\d+)', 1))
  WHEN 'UBIGINT' THEN _pg.own.numeric_typmod(20, 0) WHEN 'UHUGEINT' THEN _pg.own.numeric_typmod(39, 0) ELSE -1 END;

-- DuckDB's names of types, those of lists included, with what PostgreSQL says of each.
CREATE TABLE _pg.own.known_types AS SELECT n.duckdb_name || suffix AS duckdb_name, b.* FROM (
    SELECT duckdb_name, typname, unnest(['', '[]']) AS suffix FROM _pg.own.type_names) n JOIN _pg.own.builtin_types s USING (typname)
  JOIN _pg.own.builtin_types b ON b.oid = CASE suffix WHEN '' THEN s.oid ELSE s.typarray END;
CREATE TABLE _pg.own.oids_by_name AS SELECT map_from_entries(list({'key': duckdb_name, 'value': oid})) AS oids FROM _pg.own.known_types;
CREATE TABLE _pg.own.builtin_texts AS SELECT t.oid, t.typname, e.typname AS element, t.typarray, _pg.own.word(coalesce(e.typname, t.typname), 0) AS word
  FROM _pg.own.builtin_types t LEFT JOIN _pg.own.builtin_types e ON e.oid = t.typelem AND t.typcategory = 'A';
-- The catalogs' own columns.
CREATE TABLE _pg.own.catalog_attributes AS SELECT c.relation AS attrelid, c.name AS attname, t.oid AS atttypid, -1 AS attstattarget,
    t.typlen AS attlen, c.number AS attnum, CASE t.typcategory WHEN 'A' THEN 1 ELSE 0 END AS attndims, -1 AS attcacheoff, -1 AS atttypmod,
    t.typbyval AS attbyval, t.typalign AS attalign, t.typstorage AS attstorage, '' AS attcompression, c.never_null AS attnotnull,
    false AS atthasdef, '' AS attidentity, '' AS attgenerated, true AS attislocal, t.typcollation AS attcollation
  FROM _pg.own.catalog_columns c JOIN _pg.own.builtin_types t ON t.typname = c.type;

-- The user's own named types, which columns show by their definition only; of two with equal labels the first is meant.
CREATE MACRO _pg.own.enums() AS TABLE SELECT type_oid AS oid, type_name, schema_name, schema_oid, labels, comment,
  'ENUM(' || list_aggregate(list_transform(labels, lambda l: '''' || replace(l, '''', '''''') || ''''), 'string_agg', ', ') || ')' AS written
  FROM duckdb_types() WHERE NOT internal AND logical_type = 'ENUM' AND database_name IN (current_database(), 'temp');

-- PostgreSQL's own types, and the users': enums and the row types of their tables, each with the type of its arrays.
CREATE TABLE _pg.own.full_types AS SELECT *, 11 AS typnamespace, 10 AS typowner, true AS typisdefined, 0 AS typrelid, '-' AS typsubscript,
  '-' AS typanalyze, false AS typnotnull, 0 AS typbasetype, -1 AS typtypmod, 0 AS typndims FROM _pg.own.builtin_types;
CREATE MACRO _pg.own.user_types() AS TABLE
  SELECT oid, type_name AS name, schema_oid, 0 AS relation, true AS is_enum, _pg.own.array_of(oid) AS array_oid FROM _pg.own.enums()
UNION ALL
  SELECT _pg.own.row_type_of(oid), name, schema_oid, oid, false, _pg.own.row_array_of(oid) FROM _pg.own.relations() WHERE kind <> 'S';
CREATE MACRO _pg.rows.pg_type() AS TABLE
  SELECT * FROM _pg.own.full_types
UNION ALL BY NAME
  SELECT CASE WHEN is_array THEN array_oid ELSE oid END AS oid, CASE WHEN is_array THEN '_' || name ELSE name END AS typname,
    schema_oid AS typnamespace, 10 AS typowner, CASE WHEN is_enum AND NOT is_array THEN 4 ELSE -1 END AS typlen,
    is_enum AND NOT is_array AS typbyval, CASE WHEN is_array THEN 'b' WHEN is_enum THEN 'e' ELSE 'c' END AS typtype,
    CASE WHEN is_array THEN 'A' WHEN is_enum THEN 'E' ELSE 'C' END AS typcategory, false AS typispreferred, true AS typisdefined,
    ',' AS typdelim, CASE WHEN is_array THEN 0 ELSE relation END AS typrelid,
    CASE WHEN is_array THEN 'array_subscript_handler' ELSE '-' END AS typsubscript, CASE WHEN is_array THEN oid ELSE 0 END AS typelem,
    CASE WHEN is_array THEN 0 ELSE array_oid END AS typarray, handler || 'in' AS typinput, handler || 'out' AS typoutput,
    handler || 'recv' AS typreceive, handler || 'send' AS typsend, '-' AS typmodin, '-' AS typmodout,
    CASE WHEN is_array THEN 'array_typanalyze' ELSE '-' END AS typanalyze, CASE WHEN is_enum THEN 'i' ELSE 'd' END AS typalign,
    CASE WHEN is_enum AND NOT is_array THEN 'p' ELSE 'x' END AS typstorage, false AS typnotnull, 0 AS typbasetype, -1 AS typtypmod,
    0 AS typndims, 0 AS typcollation
  FROM (SELECT *, CASE WHEN is_array THEN 'array_' WHEN is_enum THEN 'enum_' ELSE 'record_' END AS handler
    FROM (SELECT *, unnest([false, true]) AS is_array FROM _pg.own.user_types()));

CREATE MACRO _pg.own.all_types() AS TABLE SELECT oid, typname, typnamespace, typlen, typbyval, typtype, typcategory, typelem, typarray, typalign, typstorage,
  typcollation FROM _pg.rows.pg_type();

CREATE MACRO _pg.rows.pg_enum() AS TABLE SELECT _pg.own.label_of(oid, position) AS oid, oid AS enumtypid, position AS enumsortorder, label AS enumlabel
  FROM (SELECT oid, unnest(labels) AS label, unnest(range(1, length(labels) + 1)) AS position FROM _pg.own.enums());

CREATE MACRO _pg.rows.pg_range() AS TABLE SELECT * FROM (VALUES (3904, 23, 4451, 0), (3906, 1700, 4532, 0), (3908, 1114, 4533, 0),
  (3910, 1184, 4534, 0), (3912, 1082, 4535, 0), (3926, 20, 4536, 0)) ranges (rngtypid, rngsubtype, rngmultitypid, rngcollation);
