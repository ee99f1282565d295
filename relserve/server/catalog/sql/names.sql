-- Identifiers as PostgreSQL writes and reads them.
CREATE MACRO _pg.own.quoted(n) AS CASE WHEN regexp_full_match(n, '[a-z_][a-z0-9_$]*') AND n NOT IN ('all', 'and', 'any', 'array', 'as', 'asc',
  'case', 'cast', 'check', 'column', 'constraint', 'create', 'default', 'desc', 'distinct', 'do', 'else', 'end', 'except', 'false', 'fetch',
  'for', 'foreign', 'from', 'grant', 'group', 'having', 'in', 'into', 'limit', 'not', 'null', 'offset', 'on', 'only', 'or', 'order', 'primary',
  'references', 'select', 'table', 'then', 'to', 'true', 'union', 'unique', 'user', 'using', 'when', 'where', 'window', 'with')
  THEN n ELSE '"' || replace(n, '"', '""') || '"' END;
CREATE MACRO _pg.own.unquoted(n) AS CASE WHEN n LIKE '"%"' THEN replace(n[2:-2], '""', '"') ELSE n END;
CREATE MACRO _pg.own.folded(n) AS CASE WHEN n LIKE '"%"' THEN replace(n[2:-2], '""', '"') ELSE lower(n) END;
CREATE MACRO _pg.own.name_parts(n) AS regexp_extract_all(n, '"(?:[^"]|"")*"|[^.\s"]+');
-- Texts with something between them. DuckDB's array_to_string is a macro, which calls functions by their bare names.
CREATE MACRO _pg.own.joined(texts, separator) AS CASE WHEN length(texts::VARCHAR[]) = 0 THEN '' ELSE list_aggregate(texts::VARCHAR[], 'string_agg', separator) END;
-- Whether a database is the connection's current one or that of its temporary tables.
CREATE MACRO _pg.own.shown(database) AS database IN (current_database(), 'temp');
-- Where a name without a schema is looked up.
CREATE MACRO _pg.own.path() AS CASE WHEN length(current_schemas(false)) = 0 THEN ['main'] ELSE current_schemas(false) END;
-- Whether a schema is where an unqualified name is looked up.
CREATE MACRO _pg.own.is_searched(schema_name) AS schema_name = 'pg_temp_1' OR list_contains(_pg.own.path(), schema_name);

-- A name as it is written where it may need its schema.
CREATE MACRO _pg.own.seen(schema_name, n) AS CASE WHEN _pg.own.is_searched(schema_name) THEN '' ELSE _pg.own.quoted(schema_name) || '.' END || _pg.own.quoted(n);

-- DuckDB quotes every keyword, PostgreSQL only those that it must.
CREATE MACRO _pg.own.plain_text(t) AS regexp_replace(t, '"(action|class|code|comment|content|count|data|date|day|description|hour|index|key|'
  || 'label|language|length|level|location|method|minute|mode|model|month|name|names|number|object|option|options|owner|path|percent|position|'
  || 'range|rank|reference|result|role|row|rows|scale|schema|search|second|section|sequence|server|session|share|size|source|start|state|status|'
  || 'sum|summary|system|target|temporary|text|time|timestamp|title|total|type|types|value|version|view|year|zone)"', '\1', 'g');
-- A column's default with the type that PostgreSQL writes to a literal.
CREATE MACRO _pg.own.default_in_words(t, word) AS CASE
  WHEN regexp_full_match(t, '''([^'']|'''')*''') THEN t || '::' || word
  WHEN regexp_full_match(t, '-[0-9]+') THEN '''' || t || '''::' || word
  WHEN regexp_full_match(t, '(?i)CAST\(''([^'']|'''')*'' AS \w+\)') THEN regexp_extract(t, '''.*''') || '::' || word
  WHEN t ILIKE 'current_timestamp' THEN 'CURRENT_TIMESTAMP'
  ELSE regexp_replace(_pg.own.plain_text(t), 'nextval\((''[^'']*'')\)', 'nextval(\1::regclass)') END;
