-- Identifiers as PostgreSQL writes and reads them.
CREATE MACRO _pg.own.quoted(n) AS CASE WHEN regexp_full_match(n, '[a-z_][a-z0-9_$]*') AND n NOT IN ('all', 'and', 'any', 'array', 'as', 'asc',
  'case', 'cast', 'check', 'column', 'constraint', 'create', 'default', 'desc', 'distinct', 'do', 'else', 'end', 'except', 'false', 'fetch',
  'for', 'foreign', 'from', 'grant', 'group', 'having', 'in', 'into', 'limit', 'not', 'null', 'offset', 'on', 'only', 'or', 'order', 'primary',
  'references', 'select', 'table', 'then', 'to', 'true', 'union', 'unique', 'user', 'using', 'when', 'where', 'window', 'with')
  THEN n ELSE '"' || replace(n, '"', '""') || '"' END;
CREATE MACRO _pg.own.unquoted(n) AS CASE WHEN n LIKE '"%"' THEN replace(n[2:-2], '""', '"') ELSE n END;
CREATE MACRO _pg.own.folded(n) AS CASE WHEN n LIKE '"%"' THEN replace(n[2:-2], '""', '"') ELSE lower(n) END;
CREATE MACRO _pg.own.name_parts(n) AS regexp_extract_all(n, '"(?:[^"]|"")*"|[^.\s"]+');
-- Whether a database is the connection's current one or that of its temporary tables.
CREATE MACRO _pg.own.shown(database) AS database IN (current_database(), 'temp');
-- Whether a schema is where an unqualified name is looked up.
CREATE MACRO _pg.own.is_searched(schema_name) AS schema_name = 'pg_temp_1' OR list_contains(current_schemas(true), schema_name);
