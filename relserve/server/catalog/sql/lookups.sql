-- What the functions of PostgreSQL's catalog look up. A macro's argument is put into its text as it stands, so that a column of
-- the caller's would be taken for one of the macro's subquery: columns that subqueries of macros see begin with two underscores.
CREATE MACRO _pg.own.visible_types() AS TABLE SELECT t.oid AS __oid, n.nspname = 'pg_catalog' OR _pg.own.is_searched(n.nspname) AS __visible
  FROM _pg.own.all_types() t JOIN _pg.rows.pg_namespace() n ON n.oid = t.typnamespace;
CREATE MACRO _pg.own.comments() AS TABLE SELECT objoid AS __oid, classoid AS __class, objsubid AS __number, description AS __text FROM _pg.rows.pg_description();
CREATE MACRO _pg.own.view_texts() AS TABLE SELECT oid AS __oid, definition AS __text FROM _pg.own.views();
CREATE MACRO _pg.own.modifier(n, m) AS CASE WHEN m IS NULL OR m < 0 THEN '' WHEN n = 'numeric' THEN '(' || (m - 4) // 65536 || ',' || (m - 4) % 65536 || ')'
  WHEN n IN ('varchar', 'bpchar') THEN '(' || m - 4 || ')' ELSE '' END;
CREATE MACRO _pg.own.quoted_list(names) AS _pg.own.joined(list_transform(names, lambda n: _pg.own.quoted(n)), ', ');

CREATE MACRO _pg.own.index_parts(keys, names, parts) AS list_transform(parts, lambda p, n: CASE WHEN keys[n] = 0
  THEN _pg.own.plain_text(regexp_replace(p, '^\(([\w.]+\(.*\))\)$', '\1')) ELSE _pg.own.quoted(names[n]) END);
CREATE MACRO _pg.own.index_texts() AS TABLE SELECT oid AS __oid, parts AS __parts,
    'CREATE ' || CASE WHEN is_unique THEN 'UNIQUE ' ELSE '' END || 'INDEX ' || _pg.own.quoted(name) || ' ON ' AS __head,
    CASE WHEN visible THEN '' ELSE _pg.own.quoted(schema_name) || '.' END AS __seen, _pg.own.quoted(schema_name) || '.' AS __schema,
    _pg.own.quoted(table_name) || ' USING btree (' || _pg.own.joined(parts, ', ') || ')' AS __tail
  FROM (SELECT * EXCLUDE (parts), _pg.own.index_parts(keys, column_names, parts) AS parts,
    _pg.own.is_searched(schema_name) AS visible FROM _pg.own.indexes());
CREATE MACRO _pg.own.constraint_texts() AS TABLE SELECT c.oid AS __oid, CASE c.kind
    WHEN 'p' THEN 'PRIMARY KEY (' || _pg.own.quoted_list(c.constraint_column_names) || ')'
    WHEN 'u' THEN 'UNIQUE (' || _pg.own.quoted_list(c.constraint_column_names) || ')'
    WHEN 'f' THEN 'FOREIGN KEY (' || _pg.own.quoted_list(c.constraint_column_names) || ') REFERENCES '
      || CASE WHEN _pg.own.is_searched(c.schema_name) THEN '' ELSE _pg.own.quoted(c.schema_name) || '.' END
      || _pg.own.quoted(c.referenced_table) || '(' || _pg.own.quoted_list(c.referenced_column_names) || ')'
    ELSE 'CHECK (' || _pg.own.plain_text(c.expression) || ')' END AS __text,
    CASE c.kind WHEN 'c' THEN 'CHECK ' || CASE WHEN regexp_full_match(c.expression, '\([^()]*\)') THEN '' ELSE '(' END || _pg.own.plain_text(c.expression)
      || CASE WHEN regexp_full_match(c.expression, '\([^()]*\)') THEN '' ELSE ')' END END AS __plain FROM _pg.own.named_constraints() c;
CREATE MACRO _pg.own.type_texts() AS TABLE
  SELECT oid AS __oid, typname AS __typname, element AS __element, typarray AS __array, word AS __word FROM _pg.own.builtin_texts
UNION ALL SELECT oid, type_name, NULL, _pg.own.array_of(oid), _pg.own.seen(schema_name, type_name) FROM _pg.own.enums()
UNION ALL SELECT _pg.own.array_of(oid), '_' || type_name, type_name, 0, _pg.own.seen(schema_name, type_name) FROM _pg.own.enums()
UNION ALL SELECT _pg.own.row_type_of(oid), name, NULL, _pg.own.row_array_of(oid), _pg.own.seen(schema_name, name) FROM _pg.own.relations() WHERE kind <> 'S'
UNION ALL SELECT _pg.own.row_array_of(oid), '_' || name, name, 0, _pg.own.seen(schema_name, name) FROM _pg.own.relations() WHERE kind <> 'S';
-- The same as maps: one value that a query makes once, where a subquery for each row would be planned anew at every call.
CREATE MACRO _pg.own.type_map() AS TABLE SELECT map_from_entries(list({'key': __oid, 'value': __word || CASE WHEN __element IS NULL THEN '' ELSE '[]' END}))
  AS __words FROM _pg.own.type_texts();
CREATE MACRO _pg.own.comment_map() AS TABLE SELECT map_from_entries(list({'key': __class || '.' || __oid || '.' || __number, 'value': __text})) AS __texts
  FROM _pg.own.comments();
CREATE MACRO _pg.own.constraint_map() AS TABLE SELECT map_from_entries(list({'key': __oid, 'value': [__text, coalesce(__plain, __text)]})) AS __texts
  FROM _pg.own.constraint_texts();
CREATE MACRO _pg.own.index_map() AS TABLE SELECT map_from_entries(list({'key': __oid, 'value':
  [__head || __schema || __tail, __head || __seen || __tail] || __parts})) AS __texts FROM _pg.own.index_texts();
CREATE MACRO _pg.own.schema_names() AS TABLE SELECT oid AS __oid, nspname AS __name FROM _pg.rows.pg_namespace();

CREATE MACRO _pg.own.relation_names() AS TABLE SELECT oid AS __oid, name AS __name, schema_name AS __schema,
    CASE schema_name WHEN 'pg_temp_1' THEN 0 ELSE list_position(_pg.own.path(), schema_name) END AS __place
  FROM (SELECT oid, name, CASE WHEN temporary THEN 'pg_temp_1' ELSE schema_name END AS schema_name FROM _pg.own.relations()
    UNION ALL SELECT index_oid, index_name, schema_name FROM duckdb_indexes() WHERE _pg.own.shown(database_name)
    UNION ALL SELECT index_oid, name, schema_name FROM _pg.own.named_constraints() WHERE kind IN ('p', 'u'))
UNION ALL SELECT oid, name, schema_name, CASE schema_name WHEN 'pg_catalog' THEN 0 END FROM _pg.own.catalog_relations;

-- A relation by its name as written, quoted or not, with its schema or without.
CREATE MACRO _pg.own.relation_named(n) AS (SELECT arg_min(__oid, coalesce(__place, 1000)) FROM _pg.own.relation_names()
  WHERE __name = _pg.own.folded(_pg.own.name_parts(n)[-1]) AND CASE WHEN length(_pg.own.name_parts(n)) > 1
    THEN __schema = _pg.own.folded(_pg.own.name_parts(n)[-2]) ELSE __place IS NOT NULL END);
CREATE MACRO _pg.own.plain_type(n) AS CASE regexp_replace(lower(n), '^pg_catalog\.|\(.*\)|\[\]$', '', 'g') WHEN 'int' THEN 'integer' WHEN 'decimal' THEN 'numeric'
  WHEN 'timestamp' THEN 'timestamp without time zone' WHEN 'time' THEN 'time without time zone'
  ELSE regexp_replace(_pg.own.folded(_pg.own.name_parts(n)[-1]) , '\[\]$', '') END;
CREATE MACRO _pg.own.type_named(n) AS (SELECT arg_min(CASE WHEN n LIKE '%[]' THEN __array ELSE __oid END, __oid) FROM _pg.own.type_texts()
  WHERE (__element IS NULL OR __typname = n) AND (__typname = _pg.own.plain_type(n) OR __word = _pg.own.plain_type(n)
    OR __word = regexp_replace(lower(n), '^pg_catalog\.|\[\]$', '', 'g')));

CREATE MACRO _pg.own.relation_oid(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce(try_cast(x AS BIGINT), _pg.own.relation_named(x::VARCHAR)) END;
CREATE MACRO _pg.own.regclass(x) AS CASE WHEN x IS NOT NULL THEN coalesce(try_cast(x AS BIGINT), _pg.own.relation_named(x::VARCHAR), error('relation "' || x || '" does not exist')::BIGINT) END;
CREATE MACRO _pg.own.regtype(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce(try_cast(x AS BIGINT), _pg.own.type_named(x::VARCHAR),
  error('type "' || x || '" does not exist')::BIGINT) END;
CREATE MACRO _pg.own.regnamespace(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce(try_cast(x AS BIGINT),
  (SELECT any_value(__oid) FROM _pg.own.schema_names() WHERE __name = _pg.own.folded(x::VARCHAR)), error('schema "' || x || '" does not exist')::BIGINT) END;
CREATE MACRO _pg.own.relation_map() AS TABLE SELECT map_from_entries(list({'key': __oid, 'value':
  CASE WHEN __place IS NOT NULL THEN '' ELSE _pg.own.quoted(__schema) || '.' END || _pg.own.quoted(__name)})) AS __names FROM _pg.own.relation_names();
CREATE MACRO _pg.own.regclass_name(x) AS CASE WHEN x IS NULL THEN NULL WHEN x::VARCHAR = '0' THEN '-'
  ELSE coalesce(map_extract_value((SELECT __names FROM _pg.own.relation_map()), _pg.own.regclass(x)), x::VARCHAR) END;
CREATE MACRO _pg.own.regtype_name(x) AS CASE WHEN x IS NULL THEN NULL WHEN x::VARCHAR = '0' THEN '-' ELSE coalesce(_pg.cat.format_type(_pg.own.regtype(x), NULL), x::VARCHAR) END;
CREATE MACRO _pg.own.regnamespace_name(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce((SELECT any_value(_pg.own.quoted(__name)) FROM _pg.own.schema_names()
  WHERE __oid = _pg.own.regnamespace(x)), x::VARCHAR) END;
CREATE MACRO _pg.own.function_names() AS TABLE SELECT oid AS __oid, proname AS __name FROM _pg.own.type_functions;
CREATE MACRO _pg.own.regproc(x) AS CASE x::VARCHAR WHEN '-' THEN 0 ELSE coalesce(try_cast(x AS BIGINT), (SELECT any_value(__oid) FROM _pg.own.function_names()
  WHERE __name = regexp_replace(x::VARCHAR, '^pg_catalog\.', ''))) END;
CREATE MACRO _pg.own.regproc_name(x) AS CASE x::VARCHAR WHEN '0' THEN '-' ELSE coalesce((SELECT any_value(__name) FROM _pg.own.function_names()
  WHERE __oid = try_cast(x AS BIGINT)), regexp_replace(x::VARCHAR, '^pg_catalog\.', '')) END;

CREATE MACRO _pg.rows.pg_indexes() AS TABLE SELECT schema_name AS schemaname, table_name AS tablename, name AS indexname, t.__head || t.__schema || t.__tail AS indexdef
  FROM _pg.own.indexes() i JOIN _pg.own.index_texts() t ON t.__oid = i.oid;
