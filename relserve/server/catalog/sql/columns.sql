-- The users' columns, with what PostgreSQL says of their types.
CREATE MACRO _pg.own.columns() AS TABLE
  SELECT c.table_oid, c.schema_oid, c.schema_name, c.table_name, c.column_name, c.column_index, c.comment, c.is_nullable, c.data_type,
    c.is_generated, coalesce(c.generation_expression, c.column_default) AS default_text, _pg.own.dimensions(c.data_type) AS dimensions,
    _pg.own.typmod(c.data_type) AS typmod, e.oid IS NOT NULL AS is_enum, b.oid IS NULL AND e.oid IS NULL AS is_unknown,
    coalesce(b.oid, CASE WHEN c.data_type LIKE '%]' THEN _pg.own.array_of(e.oid) ELSE e.oid END, 25) AS type_oid,
    coalesce(b.typname, CASE WHEN c.data_type LIKE '%]' THEN '_' ELSE '' END || e.type_name, 'text') AS typname,
    coalesce(b.typlen, CASE WHEN e.oid IS NULL OR c.data_type LIKE '%]' THEN -1 ELSE 4 END) AS typlen,
    coalesce(b.typbyval, e.oid IS NOT NULL) AS typbyval, coalesce(b.typalign, 'i') AS typalign,
    coalesce(b.typstorage, CASE WHEN e.oid IS NULL OR c.data_type LIKE '%]' THEN 'x' ELSE 'p' END) AS typstorage,
    coalesce(b.typcollation, CASE WHEN e.oid IS NULL THEN 100 ELSE 0 END) AS typcollation
  FROM duckdb_columns() c
  LEFT JOIN _pg.own.known_types b ON b.duckdb_name = _pg.own.known_name(c.data_type)
  LEFT JOIN (SELECT written, min(oid) AS oid, arg_min(type_name, oid) AS type_name FROM _pg.own.enums() GROUP BY written) e
    ON e.written = regexp_replace(c.data_type, '\[\d*\]$', '')
  WHERE NOT c.internal AND _pg.own.shown(c.database_name);
