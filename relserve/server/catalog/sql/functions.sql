-- PostgreSQL's functions over its catalog.
CREATE MACRO _pg.cat.format_type(o, m) AS CASE WHEN o IS NOT NULL THEN coalesce(
  CASE WHEN m >= 0 THEN CASE o WHEN 1700 THEN 'numeric' || _pg.own.modifier('numeric', m) WHEN 1231 THEN 'numeric' || _pg.own.modifier('numeric', m) || '[]'
    WHEN 1043 THEN 'character varying' || _pg.own.modifier('varchar', m) WHEN 1042 THEN 'character' || _pg.own.modifier('bpchar', m) END END,
  map_extract_value((SELECT __words FROM _pg.own.type_map()), o::BIGINT), CASE o WHEN 0 THEN '-' ELSE '???' END) END;

-- The type that a client is told of a value; DuckDB's own pg_typeof gives DuckDB's words.
CREATE MACRO _pg.cat.pg_typeof(x) AS CASE typeof(x) WHEN '"NULL"' THEN 'unknown' ELSE coalesce(_pg.cat.format_type(map_extract_value(
  (SELECT oids FROM _pg.own.oids_by_name), _pg.own.known_name(typeof(x))), NULL), lower(typeof(x))) END;
CREATE MACRO _pg.cat.pg_get_userbyid(o) AS CASE o WHEN 10 THEN 'duckdb' ELSE 'unknown (OID=' || o || ')' END;
CREATE MACRO _pg.cat.pg_table_is_visible(o) AS list_contains((SELECT list(__oid) FROM _pg.own.relation_names() WHERE __place IS NOT NULL), o::BIGINT);
CREATE MACRO _pg.cat.pg_type_is_visible(o) AS o::BIGINT < 20000 OR list_contains((SELECT list(__oid) FROM _pg.own.visible_types() WHERE __visible), o::BIGINT);
CREATE MACRO _pg.cat.pg_function_is_visible(o) AS o IS NOT NULL;
CREATE MACRO _pg.cat.pg_operator_is_visible(o) AS o IS NOT NULL;
CREATE MACRO _pg.cat.pg_opclass_is_visible(o) AS o IS NOT NULL;
CREATE MACRO _pg.cat.pg_opfamily_is_visible(o) AS o IS NOT NULL;
CREATE MACRO _pg.cat.pg_collation_is_visible(o) AS o IS NOT NULL;
CREATE MACRO _pg.cat.pg_conversion_is_visible(o) AS o IS NOT NULL;
CREATE MACRO _pg.cat.pg_ts_config_is_visible(o) AS o IS NOT NULL;
CREATE MACRO _pg.cat.pg_ts_dict_is_visible(o) AS o IS NOT NULL;
CREATE MACRO _pg.cat.pg_ts_parser_is_visible(o) AS o IS NOT NULL;
CREATE MACRO _pg.cat.pg_ts_template_is_visible(o) AS o IS NOT NULL;
CREATE MACRO _pg.cat.pg_statistics_obj_is_visible(o) AS o IS NOT NULL;

CREATE MACRO _pg.cat.obj_description(o, catalog := 'pg_class') AS map_extract_value((SELECT __texts FROM _pg.own.comment_map()),
  CASE catalog WHEN 'pg_type' THEN 1247 WHEN 'pg_namespace' THEN 2615 WHEN 'pg_class' THEN 1259 ELSE 0 END || '.' || o || '.0');
CREATE MACRO _pg.cat.col_description(o, n) AS CASE WHEN n > 0 THEN map_extract_value((SELECT __texts FROM _pg.own.comment_map()), '1259.' || o || '.' || n) END;
CREATE MACRO _pg.cat.shobj_description(o, catalog) AS NULL::VARCHAR;

-- DuckDB keeps expressions as text, so that the tree that PostgreSQL would print is the text itself.
CREATE MACRO _pg.cat.pg_get_expr(tree, relation, pretty := false) AS tree::VARCHAR;
CREATE MACRO _pg.cat.pg_get_viewdef(o, pretty := false) AS (SELECT any_value(__text) FROM _pg.own.view_texts() WHERE __oid = _pg.own.relation_oid(o));
CREATE MACRO _pg.cat.pg_get_constraintdef(o, pretty := false) AS map_extract_value((SELECT __texts FROM _pg.own.constraint_map()), o::BIGINT)[CASE WHEN pretty THEN 2 ELSE 1 END];
CREATE MACRO _pg.cat.pg_get_indexdef(o, n := 0, pretty := false) AS map_extract_value((SELECT __texts FROM _pg.own.index_map()), o::BIGINT)[
  CASE WHEN n > 0 THEN n + 2 WHEN pretty THEN 2 ELSE 1 END];
CREATE MACRO _pg.cat.pg_get_serial_sequence(relation, column_name) AS NULL::VARCHAR;
CREATE MACRO _pg.cat.pg_get_partkeydef(o) AS NULL::VARCHAR;
CREATE MACRO _pg.cat.pg_get_triggerdef(o, pretty := false) AS NULL::VARCHAR;
CREATE MACRO _pg.cat.pg_get_ruledef(o, pretty := false) AS NULL::VARCHAR;
CREATE MACRO _pg.cat.pg_get_statisticsobjdef_columns(o) AS NULL::VARCHAR;
CREATE MACRO _pg.cat.pg_relation_is_publishable(o) AS false;
CREATE MACRO _pg.cat.pg_relation_is_updatable(o, include_triggers := false) AS CASE WHEN o IN (SELECT table_oid FROM duckdb_tables()) THEN 28 ELSE 0 END;
CREATE MACRO _pg.cat.pg_column_is_updatable(o, n, include_triggers := false) AS o IN (SELECT table_oid FROM duckdb_tables());
CREATE MACRO _pg.cat.pg_is_other_temp_schema(o) AS false;
CREATE MACRO _pg.cat.pg_my_temp_schema() AS coalesce((SELECT any_value(__oid) FROM _pg.own.schema_names() WHERE __name = 'pg_temp_1'), 0);
CREATE MACRO _pg.cat.pg_tablespace_location(o) AS '';
CREATE MACRO _pg.cat.pg_encoding_to_char(n) AS CASE n WHEN 6 THEN 'UTF8' ELSE '' END;
CREATE MACRO _pg.cat.pg_char_to_encoding(n) AS CASE WHEN upper(replace(n, '-', '')) IN ('UTF8', 'UNICODE') THEN 6 ELSE -1 END;
CREATE MACRO _pg.cat.pg_client_encoding() AS 'UTF8';
CREATE MACRO _pg.cat.pg_is_in_recovery() AS false;
CREATE MACRO _pg.cat.pg_indexam_has_property(o, property) AS property IN ('can_order', 'can_unique', 'can_multi_col');
CREATE MACRO _pg.cat.pg_index_column_has_property(o, n, property) AS property IN ('asc', 'nulls_last', 'orderable', 'returnable');
CREATE MACRO _pg.cat.pg_options_to_table(options) AS (SELECT NULL::VARCHAR WHERE false);

CREATE MACRO _pg.cat.current_schemas(implicit) AS CASE WHEN implicit THEN ['pg_catalog'] ELSE [] END
  || _pg.own.path();

CREATE MACRO _pg.cat.quote_ident(n) AS _pg.own.quoted(n);
CREATE MACRO _pg.cat.quote_literal(t) AS '''' || replace(t::VARCHAR, '''', '''''') || '''';
CREATE MACRO _pg.cat.quote_nullable(t) AS coalesce('''' || replace(t::VARCHAR, '''', '''''') || '''', 'NULL');

CREATE MACRO _pg.cat.to_regclass(n) AS _pg.own.relation_named(n);
CREATE MACRO _pg.cat.to_regtype(n) AS _pg.own.type_named(n);
CREATE MACRO _pg.cat.to_regnamespace(n) AS (SELECT any_value(__oid) FROM _pg.own.schema_names() WHERE __name = _pg.own.folded(n));
CREATE MACRO _pg.cat.to_regproc(n) AS NULL::BIGINT;
CREATE MACRO _pg.cat.to_regrole(n) AS CASE _pg.own.folded(n) WHEN 'duckdb' THEN 10 END;

CREATE MACRO _pg.cat.array_lower(a, dimension) AS CASE WHEN length(a) > 0 AND dimension = 1 THEN 1 END;
CREATE MACRO _pg.cat.array_upper(a, dimension) AS CASE WHEN length(a) > 0 AND dimension = 1 THEN length(a) END;
CREATE MACRO _pg.cat.array_ndims(a) AS CASE WHEN length(a) > 0 THEN 1 END;
CREATE MACRO _pg.cat.cardinality(a) AS length(a);
CREATE MACRO _pg.cat.generate_subscripts(a, dimension) AS unnest(range(1, length(a) + 1));
CREATE MACRO _pg.cat._pg_expandarray(a) AS unnest(list_transform(a, lambda x, i: {'x': x, 'n': i}));

CREATE MACRO _pg.cat.version() AS 'PostgreSQL 15.0 (relserve on DuckDB ' || version() || ')';
CREATE MACRO _pg.cat.txid_current() AS txid_current();
CREATE MACRO _pg.cat.pg_size_pretty(n) AS CASE WHEN abs(n) < 10240 THEN n || ' bytes' WHEN abs(n) < 10240 * 1024 THEN round(n / 1024)::BIGINT || ' kB'
  WHEN abs(n) < 10240 * 1048576 THEN round(n / 1048576)::BIGINT || ' MB' ELSE round(n / 1073741824)::BIGINT || ' GB' END;
-- DuckDB does not tell the size of one table.
CREATE MACRO _pg.cat.pg_table_size(o) AS NULL::BIGINT;
CREATE MACRO _pg.cat.pg_relation_size(o, fork := 'main') AS NULL::BIGINT;
CREATE MACRO _pg.cat.pg_total_relation_size(o) AS NULL::BIGINT;
CREATE MACRO _pg.cat.pg_indexes_size(o) AS NULL::BIGINT;
CREATE MACRO _pg.cat.pg_database_size(d) AS (SELECT sum(total_blocks * block_size)::BIGINT FROM pragma_database_size() WHERE database_name = current_database());

-- What was granted is kept in `rights/` and is not shown here: clients try, and are told what they may not.
CREATE MACRO _pg.cat.has_table_privilege(a, b, c := NULL) AS true;
CREATE MACRO _pg.cat.has_any_column_privilege(a, b, c := NULL) AS true;
CREATE MACRO _pg.cat.has_column_privilege(a, b, c, d := NULL) AS true;
CREATE MACRO _pg.cat.has_schema_privilege(a, b, c := NULL) AS true;
CREATE MACRO _pg.cat.has_database_privilege(a, b, c := NULL) AS true;
CREATE MACRO _pg.cat.has_function_privilege(a, b, c := NULL) AS true;
CREATE MACRO _pg.cat.has_sequence_privilege(a, b, c := NULL) AS true;
CREATE MACRO _pg.cat.has_type_privilege(a, b, c := NULL) AS true;
CREATE MACRO _pg.cat.has_language_privilege(a, b, c := NULL) AS true;
CREATE MACRO _pg.cat.has_tablespace_privilege(a, b, c := NULL) AS true;
CREATE MACRO _pg.cat.pg_has_role(a, b, c := NULL) AS true;
CREATE MACRO _pg.cat.row_security_active(a) AS false;

CREATE MACRO _pg.cat.pg_advisory_lock(a, b := 0) AS NULL::VARCHAR;
CREATE MACRO _pg.cat.pg_try_advisory_lock(a, b := 0) AS true;
CREATE MACRO _pg.cat.pg_advisory_unlock(a, b := 0) AS true;
CREATE MACRO _pg.cat.pg_advisory_unlock_all() AS NULL::VARCHAR;
CREATE MACRO _pg.cat.inet_server_addr() AS NULL::VARCHAR;
CREATE MACRO _pg.cat.inet_server_port() AS NULL::INTEGER;
CREATE MACRO _pg.cat.inet_client_addr() AS NULL::VARCHAR;
CREATE MACRO _pg.cat.inet_client_port() AS NULL::INTEGER;

-- Nothing is partitioned, and no table inherits.
CREATE MACRO _pg.cat.pg_partition_ancestors(o) AS _pg.own.relation_oid(o);
CREATE MACRO _pg.cat.pg_partition_ancestors(o) AS TABLE SELECT o AS relid, 1::BIGINT AS depth;
CREATE MACRO _pg.cat.pg_partition_root(o) AS NULL::BIGINT;
CREATE MACRO _pg.cat.getdatabaseencoding() AS 'UTF8';
CREATE MACRO _pg.cat.array_remove(a, x) AS list_filter(a, lambda y: y IS DISTINCT FROM x);

CREATE MACRO _pg.cat.pg_get_function_result(o) AS (SELECT any_value(__result) FROM _pg.own.function_texts() WHERE __oid = o);
CREATE MACRO _pg.cat.pg_get_function_arguments(o) AS (SELECT any_value(__arguments) FROM _pg.own.function_texts() WHERE __oid = o);
CREATE MACRO _pg.cat.pg_get_function_identity_arguments(o) AS (SELECT any_value(__arguments) FROM _pg.own.function_texts() WHERE __oid = o);
CREATE MACRO _pg.cat.pg_get_function_sqlbody(o) AS NULL::VARCHAR;
CREATE MACRO _pg.cat.pg_get_functiondef(o) AS (SELECT any_value(__definition) FROM _pg.own.function_texts() WHERE __oid = o);
CREATE MACRO _pg.cat.pg_get_keywords() AS TABLE SELECT keyword_name AS word, upper(keyword_category[1]) AS catcode, true AS barelabel,
  replace(keyword_category, '_', ' ') AS catdesc, 'can be bare label' AS baredesc FROM duckdb_keywords();
