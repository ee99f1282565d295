-- Functions and macros, each overload with an oid of its own; a type that DuckDB leaves open is PostgreSQL's "any" (2276).
-- Users' functions and those of the process are in the schema where a name without one is looked up, as they are when called.
CREATE MACRO _pg.own.functions() AS TABLE
  SELECT 500000000 + f.function_oid * 64 + row_number() OVER (PARTITION BY f.function_oid ORDER BY f.parameter_types::VARCHAR) AS oid, f.function_name,
    CASE WHEN f.internal THEN 11 ELSE coalesce(s.oid, main.oid) END AS schema_oid, f.function_type, f.varargs IS NOT NULL AS is_open, f.stability, f.internal,
    f.parameters, f.macro_definition, f.description,
    coalesce(map_extract_value(n.oids, regexp_replace(f.return_type, '\(.*\)', '')), 2276) AS result_oid,
    list_transform(f.parameter_types, lambda t: coalesce(map_extract_value(n.oids, regexp_replace(t, '\(.*\)', '')), 2276)) AS argument_oids
  FROM _pg.own.oids_by_name n, (SELECT any_value(oid) AS oid FROM duckdb_schemas() WHERE database_name = current_database() AND schema_name = 'main') main,
    duckdb_functions() f LEFT JOIN duckdb_schemas() s ON s.database_name = f.database_name AND s.schema_name = f.schema_name AND s.database_name = current_database()
  WHERE f.database_name IN (current_database(), 'temp', 'system') AND f.function_type IN ('scalar', 'aggregate', 'macro', 'table', 'table_macro')
    AND regexp_matches(f.function_name, '^[A-Za-z]');
CREATE MACRO _pg.rows.pg_proc() AS TABLE
  SELECT oid, function_name AS proname, schema_oid AS pronamespace, 10 AS proowner, CASE WHEN function_type LIKE '%macro' THEN 14 ELSE 12 END AS prolang,
    1 AS procost, CASE WHEN function_type LIKE 'table%' THEN 1000 ELSE 0 END AS prorows, CASE WHEN is_open THEN 2276 ELSE 0 END AS provariadic,
    CASE function_type WHEN 'aggregate' THEN 'a' ELSE 'f' END AS prokind, function_type LIKE 'table%' AS proretset,
    CASE stability WHEN 'VOLATILE' THEN 'v' WHEN 'CONSISTENT_WITHIN_QUERY' THEN 's' ELSE 'i' END AS provolatile, 's' AS proparallel,
    length(argument_oids) AS pronargs, result_oid AS prorettype, argument_oids AS proargtypes, parameters AS proargnames,
    coalesce(macro_definition, function_name) AS prosrc FROM _pg.own.functions()
UNION ALL BY NAME
  SELECT oid, proname, 11 AS pronamespace, 10 AS proowner, 12 AS prolang, 1 AS procost, 'f' AS prokind, 'i' AS provolatile, 's' AS proparallel, pronargs,
    prorettype, proname AS prosrc FROM _pg.own.type_functions;
CREATE MACRO _pg.rows.pg_aggregate() AS TABLE SELECT oid AS aggfnoid, 'n' AS aggkind FROM _pg.own.functions() WHERE function_type = 'aggregate';
CREATE MACRO _pg.own.type_words_by_oid() AS TABLE SELECT map_from_entries(list({'key': __oid, 'value': __word || CASE WHEN __element IS NULL THEN '' ELSE '[]' END})) AS words
  FROM _pg.own.type_texts();
CREATE MACRO _pg.own.function_texts() AS TABLE SELECT oid AS __oid, CASE WHEN function_type LIKE 'table%' THEN 'SETOF record' ELSE map_extract_value(words, result_oid) END AS __result,
    _pg.own.joined(list_transform(argument_oids, lambda o, i: CASE WHEN internal THEN '' ELSE coalesce(_pg.own.quoted(parameters[i]) || ' ', '') END
      || coalesce(map_extract_value(words, o), 'text')), ', ') AS __arguments,
    CASE WHEN macro_definition IS NOT NULL THEN 'CREATE MACRO ' || _pg.own.quoted(function_name) || '(' || _pg.own.joined(parameters, ', ') || ') AS '
      || macro_definition END AS __definition
  FROM _pg.own.functions(), _pg.own.type_words_by_oid();
