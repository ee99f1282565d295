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

-- A name as it is written where it may need its schema.
CREATE MACRO _pg.own.seen(schema_name, n) AS CASE WHEN _pg.own.is_searched(schema_name) THEN '' ELSE _pg.own.quoted(schema_name) || '.' END || _pg.own.quoted(n);

-- DuckDB quotes every keyword, PostgreSQL only those that it must.
CREATE MACRO _pg.own.plain_text(t) AS regexp_replace(t, '"(name|value|type|year|month|day|hour|minute|second|date|time|timestamp|text|key|names|count|data|'
  || 'status|level|location|owner|action|comment|content|version|role|class|position|schema|source|start|end_|number|label|language|index|length|'
  || 'percent|rank|total|zone|state|view|source|summary|title|description|row|rows|values_|method|model|mode|object|option|options|parser|path|code|'
  || 'prior|range|reference|result|return|scale|search|section|sequence|server|session|set_|share|size|sum|system|target|template|temporary|types|user_)"',
  '\1', 'g');
-- A column's default with the type that PostgreSQL writes to a literal.
CREATE MACRO _pg.own.default_in_words(t, word) AS CASE
  WHEN regexp_full_match(t, '''([^'']|'''')*''') THEN t || '::' || word
  WHEN regexp_full_match(t, '-[0-9]+') THEN '''' || t || '''::' || word
  WHEN regexp_full_match(t, '(?i)CAST\(''([^'']|'''')*'' AS \w+\)') THEN regexp_extract(t, '''.*''') || '::' || word
  WHEN t ILIKE 'current_timestamp' THEN 'CURRENT_TIMESTAMP'
  ELSE regexp_replace(_pg.own.plain_text(t), 'nextval\((''[^'']*'')\)', 'nextval(\1::regclass)') END;
