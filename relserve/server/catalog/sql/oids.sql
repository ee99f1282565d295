-- Object identifiers. DuckDB's start at 20000 and are unique over all attached databases, so that they never meet PostgreSQL's own;
-- what DuckDB gives none (array and row types, labels, defaults, constraints, and their indexes) gets one above them.
CREATE MACRO _pg.own.array_of(o) AS 200000000 + o;
CREATE MACRO _pg.own.row_type_of(o) AS 400000000 + o;
CREATE MACRO _pg.own.label_of(o, n) AS 600000000 + o * 256 + n;
CREATE MACRO _pg.own.default_of(o, n) AS 1000000000 + o * 256 + n;
CREATE MACRO _pg.own.constraint_of(o, n) AS 1400000000 + o * 64 + n;
CREATE MACRO _pg.own.constraint_index_of(o, n) AS 1800000000 + o * 64 + n;
