-- What the functions of PostgreSQL's catalog look up. A macro's argument is put into its text as it stands, so that a column of
-- the caller's would be taken for one of the macro's subquery: columns that subqueries of macros see begin with two underscores.
CREATE VIEW _pg.own.visible AS SELECT c.oid AS __oid, _pg.own.is_searched(n.nspname) AS __visible FROM _pg.rows.pg_class c
  JOIN _pg.rows.pg_namespace n ON n.oid = c.relnamespace;
CREATE VIEW _pg.own.visible_types AS SELECT t.oid AS __oid, n.nspname = 'pg_catalog' OR _pg.own.is_searched(n.nspname) AS __visible
  FROM _pg.own.all_types t JOIN _pg.rows.pg_namespace n ON n.oid = t.typnamespace;
CREATE VIEW _pg.own.comments AS SELECT objoid AS __oid, classoid AS __class, objsubid AS __number, description AS __text FROM _pg.rows.pg_description;
CREATE VIEW _pg.own.view_texts AS SELECT oid AS __oid, definition AS __text FROM _pg.own.views;
CREATE MACRO _pg.own.word(n, o) AS CASE WHEN o >= 20000 THEN _pg.own.quoted(n) ELSE coalesce((SELECT words FROM _pg.own.words_by_name)[n], n) END;
CREATE MACRO _pg.own.modifier(n, m) AS CASE WHEN m IS NULL OR m < 0 THEN '' WHEN n = 'numeric' THEN '(' || (m - 4) // 65536 || ',' || (m - 4) % 65536 || ')'
  WHEN n IN ('varchar', 'bpchar') THEN '(' || m - 4 || ')' ELSE '' END;
CREATE MACRO _pg.own.quoted_list(names) AS array_to_string(list_transform(names, lambda n: _pg.own.quoted(n)), ', ');

CREATE MACRO _pg.own.index_parts(keys, names, parts) AS list_transform(parts, lambda p, n: CASE WHEN keys[n] = 0
  THEN regexp_replace(p, '^\(([\w.]+\(.*\))\)$', '\1') ELSE _pg.own.quoted(names[n]) END);
CREATE VIEW _pg.own.index_texts AS SELECT oid AS __oid, _pg.own.index_parts(keys, column_names, parts) AS __parts,
  'CREATE ' || CASE WHEN is_unique THEN 'UNIQUE ' ELSE '' END || 'INDEX ' || _pg.own.quoted(name) || ' ON ' || _pg.own.quoted(schema_name) || '.'
    || _pg.own.quoted(table_name) || ' USING btree (' || array_to_string(_pg.own.index_parts(keys, column_names, parts), ', ') || ')' AS __text
  FROM _pg.own.indexes;
CREATE VIEW _pg.own.constraint_texts AS SELECT c.oid AS __oid, CASE c.kind
    WHEN 'p' THEN 'PRIMARY KEY (' || _pg.own.quoted_list(c.constraint_column_names) || ')'
    WHEN 'u' THEN 'UNIQUE (' || _pg.own.quoted_list(c.constraint_column_names) || ')'
    WHEN 'f' THEN 'FOREIGN KEY (' || _pg.own.quoted_list(c.constraint_column_names) || ') REFERENCES '
      || CASE WHEN _pg.own.is_searched(c.schema_name) THEN '' ELSE _pg.own.quoted(c.schema_name) || '.' END
      || _pg.own.quoted(c.referenced_table) || '(' || _pg.own.quoted_list(c.referenced_column_names) || ')'
    ELSE 'CHECK (' || c.expression || ')' END AS __text FROM _pg.own.named_constraints c;
CREATE VIEW _pg.own.type_texts AS SELECT t.oid AS __oid, t.typname AS __typname, e.typname AS __element, t.typarray AS __array,
    CASE WHEN e.oid IS NOT NULL THEN _pg.own.word(e.typname, e.oid) ELSE _pg.own.word(t.typname, t.oid) END AS __word
  FROM _pg.own.all_types t LEFT JOIN _pg.own.all_types e ON e.oid = t.typelem AND t.typcategory = 'A';
CREATE VIEW _pg.own.schema_names AS SELECT oid AS __oid, nspname AS __name FROM _pg.rows.pg_namespace;

CREATE TABLE _pg.own.catalog_oids AS SELECT * FROM (VALUES (1247, 'pg_type'), (1249, 'pg_attribute'), (1255, 'pg_proc'), (1259, 'pg_class'),
  (1260, 'pg_authid'), (1262, 'pg_database'), (2601, 'pg_am'), (2604, 'pg_attrdef'), (2605, 'pg_cast'), (2606, 'pg_constraint'), (2607, 'pg_conversion'),
  (2610, 'pg_index'), (2612, 'pg_language'), (2615, 'pg_namespace'), (2616, 'pg_opclass'), (2617, 'pg_operator'), (2618, 'pg_rewrite'),
  (2620, 'pg_trigger'), (2753, 'pg_opfamily'), (3079, 'pg_extension'), (3256, 'pg_policy'), (3381, 'pg_statistic_ext'), (3456, 'pg_collation'),
  (3466, 'pg_event_trigger'), (3501, 'pg_enum'), (1213, 'pg_tablespace'), (2224, 'pg_sequence'), (2609, 'pg_description')) catalogs (oid, name);
CREATE VIEW _pg.own.relation_names AS SELECT c.oid AS __oid, c.relname AS __name, n.nspname AS __schema,
    coalesce(list_position(current_schemas(true), n.nspname), CASE n.nspname WHEN 'pg_temp_1' THEN 0 END) AS __place
  FROM (SELECT oid, name AS relname, schema_oid AS relnamespace FROM _pg.own.relations UNION ALL SELECT oid, name, schema_oid FROM _pg.own.indexes) c
  JOIN _pg.rows.pg_namespace n ON n.oid = c.relnamespace
UNION ALL SELECT oid, name, 'pg_catalog', 0 FROM _pg.own.catalog_oids;

-- A relation by its name as written, quoted or not, with its schema or without.
CREATE MACRO _pg.own.relation_named(n) AS (SELECT arg_min(__oid, coalesce(__place, 1000)) FROM _pg.own.relation_names
  WHERE __name = _pg.own.folded(_pg.own.name_parts(n)[-1]) AND CASE WHEN length(_pg.own.name_parts(n)) > 1
    THEN __schema = _pg.own.folded(_pg.own.name_parts(n)[-2]) ELSE __place IS NOT NULL END);
CREATE MACRO _pg.own.plain_type(n) AS CASE regexp_replace(lower(n), '^pg_catalog\.|\(.*\)|\[\]$', '', 'g') WHEN 'int' THEN 'integer' WHEN 'decimal' THEN 'numeric'
  WHEN 'timestamp' THEN 'timestamp without time zone' WHEN 'time' THEN 'time without time zone'
  ELSE regexp_replace(_pg.own.folded(_pg.own.name_parts(n)[-1]) , '\[\]$', '') END;
CREATE MACRO _pg.own.type_named(n) AS (SELECT arg_min(CASE WHEN n LIKE '%[]' THEN __array ELSE __oid END, __oid) FROM _pg.own.type_texts
  WHERE (__element IS NULL OR __typname = n) AND (__typname = _pg.own.plain_type(n) OR __word = _pg.own.plain_type(n)
    OR __word = regexp_replace(lower(n), '^pg_catalog\.|\[\]$', '', 'g')));

CREATE MACRO _pg.own.relation_oid(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce(try_cast(x AS BIGINT), _pg.own.relation_named(x::VARCHAR)) END;
CREATE MACRO _pg.own.regclass(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce(_pg.own.relation_oid(x), error('relation "' || x || '" does not exist')::BIGINT) END;
CREATE MACRO _pg.own.regtype(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce(try_cast(x AS BIGINT), _pg.own.type_named(x::VARCHAR),
  error('type "' || x || '" does not exist')::BIGINT) END;
CREATE MACRO _pg.own.regnamespace(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce(try_cast(x AS BIGINT),
  (SELECT any_value(__oid) FROM _pg.own.schema_names WHERE __name = _pg.own.folded(x::VARCHAR)), error('schema "' || x || '" does not exist')::BIGINT) END;
CREATE MACRO _pg.own.regclass_name(x) AS CASE WHEN x IS NULL THEN NULL WHEN x::VARCHAR = '0' THEN '-' ELSE coalesce((SELECT any_value(CASE WHEN __place IS NOT NULL THEN '' ELSE _pg.own.quoted(__schema) || '.' END || _pg.own.quoted(__name))
  FROM _pg.own.relation_names WHERE __oid = _pg.own.regclass(x)),
  x::VARCHAR) END;
CREATE MACRO _pg.own.regtype_name(x) AS CASE WHEN x IS NULL THEN NULL WHEN x::VARCHAR = '0' THEN '-' ELSE coalesce(_pg.cat.format_type(_pg.own.regtype(x), NULL), x::VARCHAR) END;
CREATE MACRO _pg.own.regnamespace_name(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce((SELECT any_value(_pg.own.quoted(__name)) FROM _pg.own.schema_names
  WHERE __oid = _pg.own.regnamespace(x)), x::VARCHAR) END;
-- Functions are known by name alone.
CREATE MACRO _pg.own.regproc(x) AS CASE x::VARCHAR WHEN '-' THEN 0 WHEN '0' THEN 0 ELSE coalesce(try_cast(x AS BIGINT), (hash(regexp_replace(x::VARCHAR, '^pg_catalog\.', '')) % 5000 + 10000)::BIGINT) END;
CREATE MACRO _pg.own.regproc_name(x) AS regexp_replace(x::VARCHAR, '^pg_catalog\.', '');

CREATE VIEW _pg.rows.pg_indexes AS SELECT schema_name AS schemaname, table_name AS tablename, name AS indexname, t.__text AS indexdef
  FROM _pg.own.indexes i JOIN _pg.own.index_texts t ON t.__oid = i.oid;
