-- The SQL standard's information_schema.
CREATE MACRO _pg.info_rows.schemata() AS TABLE SELECT current_database() AS catalog_name, nspname AS schema_name, 'duckdb' AS schema_owner FROM _pg.rows.pg_namespace()
  WHERE nspname NOT IN ('pg_toast', 'pg_temp_1') OR nspname = 'pg_temp_1';
CREATE MACRO _pg.info_rows."tables"() AS TABLE SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.relname AS table_name,
  CASE WHEN c.relpersistence = 't' THEN 'LOCAL TEMPORARY' WHEN c.relkind = 'v' THEN 'VIEW' ELSE 'BASE TABLE' END AS table_type,
  CASE c.relkind WHEN 'v' THEN 'NO' ELSE 'YES' END AS is_insertable_into, 'NO' AS is_typed
  FROM _pg.rows.pg_class() c JOIN _pg.rows.pg_namespace() n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v');
CREATE MACRO _pg.info_rows.views() AS TABLE SELECT current_database() AS table_catalog, schemaname AS table_schema, viewname AS table_name, definition AS view_definition,
  'NONE' AS check_option, 'NO' AS is_updatable, 'NO' AS is_insertable_into, 'NO' AS is_trigger_updatable, 'NO' AS is_trigger_deletable,
  'NO' AS is_trigger_insertable_into FROM _pg.rows.pg_views();
CREATE MACRO _pg.info_rows.sequences() AS TABLE SELECT current_database() AS sequence_catalog, schemaname AS sequence_schema, sequencename AS sequence_name, data_type,
  64 AS numeric_precision, 2 AS numeric_precision_radix, 0 AS numeric_scale, start_value::VARCHAR AS start_value, min_value::VARCHAR AS minimum_value,
  max_value::VARCHAR AS maximum_value, increment_by::VARCHAR AS increment, CASE WHEN cycle THEN 'YES' ELSE 'NO' END AS cycle_option FROM _pg.rows.pg_sequences();
CREATE MACRO _pg.info_rows.columns() AS TABLE SELECT current_database() AS table_catalog, n.nspname AS table_schema, c.table_name, c.column_name,
  c.column_index AS ordinal_position, CASE WHEN NOT c.is_generated THEN c.default_text END AS column_default,
  CASE WHEN c.is_nullable THEN 'YES' ELSE 'NO' END AS is_nullable,
  CASE WHEN c.dimensions > 0 THEN 'ARRAY' WHEN c.is_enum THEN 'USER-DEFINED' ELSE _pg.own.word(t.typname, t.oid) END AS data_type,
  CASE t.typname WHEN 'text' THEN 1073741824 END AS character_octet_length,
  CASE t.typname WHEN 'int2' THEN 16 WHEN 'int4' THEN 32 WHEN 'int8' THEN 64 WHEN 'float4' THEN 24 WHEN 'float8' THEN 53
    WHEN 'numeric' THEN (c.typmod - 4) // 65536 END AS numeric_precision,
  CASE WHEN t.typname = 'numeric' THEN 10 WHEN t.typname IN ('int2', 'int4', 'int8', 'float4', 'float8') THEN 2 END AS numeric_precision_radix,
  CASE WHEN t.typname IN ('int2', 'int4', 'int8') THEN 0 WHEN t.typname = 'numeric' THEN (c.typmod - 4) % 65536 END AS numeric_scale,
  CASE WHEN t.typname LIKE 'time%' OR t.typname = 'interval' THEN 6 WHEN t.typname = 'date' THEN 0 END AS datetime_precision,
  current_database() AS udt_catalog, CASE WHEN c.is_enum THEN n.nspname ELSE 'pg_catalog' END AS udt_schema, t.typname AS udt_name,
  c.column_index::VARCHAR AS dtd_identifier, 'NO' AS is_self_referencing, 'NO' AS is_identity, 'NO' AS identity_cycle,
  CASE WHEN c.is_generated THEN 'ALWAYS' ELSE 'NEVER' END AS is_generated, CASE WHEN c.is_generated THEN c.default_text END AS generation_expression,
  CASE WHEN c.table_oid IN (SELECT table_oid FROM duckdb_tables()) THEN 'YES' ELSE 'NO' END AS is_updatable
  FROM _pg.own.columns() c JOIN _pg.rows.pg_namespace() n ON n.oid = c.schema_oid JOIN _pg.own.all_types() t ON t.oid = c.type_oid;
CREATE MACRO _pg.info_rows.table_constraints() AS TABLE
  SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, c.name AS constraint_name, current_database() AS table_catalog,
    n.nspname AS table_schema, c.table_name, c.constraint_type, 'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced,
    CASE c.kind WHEN 'u' THEN 'YES' END AS nulls_distinct FROM _pg.own.named_constraints() c JOIN _pg.rows.pg_namespace() n ON n.oid = c.schema_oid
UNION ALL BY NAME
  SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema,
    c.schema_oid || '_' || c.table_oid || '_' || c.column_index || '_not_null' AS constraint_name, current_database() AS table_catalog,
    n.nspname AS table_schema, c.table_name, 'CHECK' AS constraint_type, 'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced
  FROM _pg.own.columns() c JOIN _pg.rows.pg_namespace() n ON n.oid = c.schema_oid WHERE NOT c.is_nullable;
CREATE MACRO _pg.info_rows.key_column_usage() AS TABLE SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, c.name AS constraint_name,
  current_database() AS table_catalog, n.nspname AS table_schema, c.table_name, c.column_name, c.place AS ordinal_position,
  CASE c.kind WHEN 'f' THEN coalesce(list_position(r.constraint_column_names, c.referenced_column_names[c.place]), c.place) END AS position_in_unique_constraint
  FROM (SELECT *, unnest(constraint_column_names) AS column_name, unnest(range(1, length(constraint_column_names) + 1)) AS place
    FROM _pg.own.named_constraints() WHERE kind IN ('p', 'u', 'f')) c
  JOIN _pg.rows.pg_namespace() n ON n.oid = c.schema_oid
  LEFT JOIN _pg.rows.pg_constraint() p ON p.oid = c.oid AND c.kind = 'f' LEFT JOIN _pg.own.named_constraints() r ON r.index_oid = p.conindid AND p.conindid > 0;
CREATE MACRO _pg.info_rows.constraint_column_usage() AS TABLE SELECT current_database() AS table_catalog, n.nspname AS table_schema,
  coalesce(c.referenced_table, c.table_name) AS table_name, unnest(CASE c.kind WHEN 'f' THEN c.referenced_column_names ELSE c.constraint_column_names END) AS column_name,
  current_database() AS constraint_catalog, n.nspname AS constraint_schema, c.name AS constraint_name
  FROM _pg.own.named_constraints() c JOIN _pg.rows.pg_namespace() n ON n.oid = c.schema_oid;
CREATE MACRO _pg.info_rows.referential_constraints() AS TABLE SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS constraint_name,
  current_database() AS unique_constraint_catalog, n.nspname AS unique_constraint_schema, r.name AS unique_constraint_name, 'NONE' AS match_option,
  'NO ACTION' AS update_rule, 'NO ACTION' AS delete_rule
  FROM _pg.rows.pg_constraint() c JOIN _pg.rows.pg_namespace() n ON n.oid = c.connamespace LEFT JOIN _pg.own.named_constraints() r ON r.index_oid = c.conindid AND c.conindid > 0
  WHERE c.contype = 'f';
CREATE MACRO _pg.info_rows.check_constraints() AS TABLE SELECT current_database() AS constraint_catalog, n.nspname AS constraint_schema, c.name AS constraint_name,
  '(' || c.expression || ')' AS check_clause FROM _pg.own.named_constraints() c JOIN _pg.rows.pg_namespace() n ON n.oid = c.schema_oid WHERE c.kind = 'c';
CREATE MACRO _pg.info_rows.character_sets() AS TABLE SELECT 'UTF8' AS character_set_name, 'UCS' AS character_repertoire, 'UTF8' AS form_of_use,
  current_database() AS default_collate_catalog, 'pg_catalog' AS default_collate_schema, 'default' AS default_collate_name;
CREATE MACRO _pg.info_rows.information_schema_catalog_name() AS TABLE SELECT current_database() AS catalog_name;
CREATE MACRO _pg.info_rows.enabled_roles() AS TABLE SELECT 'duckdb' AS role_name;
CREATE MACRO _pg.info_rows.table_privileges() AS TABLE SELECT 'duckdb' AS grantor, 'duckdb' AS grantee, table_catalog, table_schema, table_name,
  unnest(['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege_type, 'YES' AS is_grantable, 'NO' AS with_hierarchy FROM _pg.info_rows."tables"();
CREATE MACRO _pg.info_rows.routines() AS TABLE SELECT current_database() AS specific_catalog, n.nspname AS specific_schema, p.proname || '_' || p.oid AS specific_name,
  current_database() AS routine_catalog, n.nspname AS routine_schema, p.proname AS routine_name, 'FUNCTION' AS routine_type,
  _pg.own.word(t.typname, t.oid) AS data_type, 'SQL' AS routine_body, p.prosrc AS routine_definition, 'SQL' AS external_language
  FROM _pg.rows.pg_proc() p JOIN _pg.rows.pg_namespace() n ON n.oid = p.pronamespace LEFT JOIN _pg.own.all_types() t ON t.oid = p.prorettype WHERE p.prokind = 'f';
