"""The grammar of DuckDB SELECT statements over the names of a schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache

import duckdb

from relserve.linking.schema import Schema, Table, quoted

# s: space that must be, o: space that may be. Keywords are in capital letters, operators as DuckDB spells
# them. Where a rule is looser than SQL (an alias that no FROM gives), DuckDB's binder finds out.
_RULES = r"""
root ::= with? query
s ::= [ \n] [ ]{0,8}
o ::= s?
comma ::= o "," o
with ::= "WITH" s "w1" with_query ( comma "w2" with_query ( comma "w3" with_query )? )? s
with_query ::= ( o "(" o named ( comma named ){0,8} o ")" )? s "AS" o nested
nested ::= "(" o query o ")"
query ::= select ( s ( "UNION" s "ALL" | "UNION" | "INTERSECT" | "EXCEPT" ) s select ){0,4} order? limit?
select ::= "SELECT" s ( "DISTINCT" s )? item ( comma item ){0,30} ( s "FROM" s from )?
from ::= source join{0,8} where? group? having? qualify?
item ::= all_columns | value ( s "AS" s named )?
source ::= ( table | nested ) ( s ( "AS" s )? alias )?
join ::= comma source | s join_kind "JOIN" s source s joined | s "CROSS" s "JOIN" s source
join_kind ::= ( ( "INNER" | ( "LEFT" | "RIGHT" | "FULL" ) ( s "OUTER" )? ) s )?
joined ::= "ON" s value | "USING" o "(" o any_column o ")"
where ::= s "WHERE" s value
group ::= s "GROUP" s "BY" s ( "ALL" | values )
having ::= s "HAVING" s value
qualify ::= s "QUALIFY" s value
order ::= s ordering
ordering ::= "ORDER" s "BY" s ordered ( comma ordered ){0,8}
ordered ::= value ( s ( "ASC" | "DESC" ) )? ( s "NULLS" s ( "FIRST" | "LAST" ) )?
limit ::= s "LIMIT" s whole ( s "OFFSET" s whole )?
values ::= value ( comma value ){0,30}
value ::= conjunction ( s "OR" s conjunction ){0,30}
conjunction ::= negation ( s "AND" s negation ){0,30}
negation ::= ( "NOT" s )? ( "EXISTS" o nested | sum test? )
test ::= o comparison o ( sum | ( "ALL" | "ANY" ) o nested ) | s "IS" s is | s ( "NOT" s )? membership
is ::= ( "NOT" s )? ( "NULL" | "DISTINCT" s "FROM" s sum )
membership ::= "BETWEEN" s sum s "AND" s sum | ( "LIKE" | "ILIKE" ) s sum | "IN" o listed
listed ::= nested | "(" o values o ")"
comparison ::= "=" | "<>" | "!=" | "<=" | ">=" | "<" | ">"
sum ::= product ( s ( "+" | "-" | "||" ) s product ){0,8}
product ::= operand ( s ( "*" | "/" | "//" | "%" ) s operand ){0,8}
operand ::= ( constant | column | call | case | nested | "(" o value o ")" ) ( "::" type )?
case ::= "CASE" ( s value )? ( s "WHEN" s value s "THEN" s value ){1,8} ( s "ELSE" s value )? s "END"
call ::= cast | extract | nullif | scalar "(" o values o ")" | aggregate filter? over? | windowed
nullif ::= ( "NULLIF" | "nullif" ) "(" o value comma value o ")"
windowed ::= window "(" o values? o ")" over
cast ::= ( "CAST" | "TRY_CAST" ) "(" o value s "AS" s type o ")"
extract ::= "EXTRACT" "(" o unit s "FROM" s value o ")"
aggregate ::= aggregated "(" o ( "*" | ( "DISTINCT" s )? values ( order )? ) o ")"
filter ::= s "FILTER" o "(" o "WHERE" s value o ")"
over ::= s "OVER" o "(" o ( "PARTITION" s "BY" s values ( order frame? )? | ordering frame? )? o ")"
frame ::= s ( "ROWS" | "RANGE" ) s ( "UNBOUNDED" s "PRECEDING" | bounded )
bounded ::= "BETWEEN" s ( "UNBOUNDED" | whole ) s "PRECEDING" s "AND" s until
until ::= "CURRENT" s "ROW" | ( "UNBOUNDED" | whole ) s "FOLLOWING"
constant ::= number | text | "NULL" | "TRUE" | "FALSE" | dated | interval
dated ::= ( "DATE" | "TIMESTAMP" ) s text | "CURRENT_DATE" | "CURRENT_TIMESTAMP"
interval ::= "INTERVAL" s ( text | whole s ( unit ) )
number ::= "-"? whole ( "." [0-9]{1,18} )?
whole ::= [0-9]{1,18}
text ::= "'" ( [^'\x00-\x1f] | "''" )* "'"
type ::= type_name | "DECIMAL(" [1-3] [0-8] "," o [0-9] ")"
"""
AGGREGATES = (
    "count sum avg min max median mode stddev stddev_pop stddev_samp variance var_pop var_samp first last "
    "any_value arg_max arg_min bool_and bool_or quantile_cont quantile_disc string_agg corr count_if "
    "approx_count_distinct"
).split()
WINDOWS = (
    "row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value"
).split()
SCALARS = (
    "abs ceil ceiling floor round sqrt power pow exp ln log log10 log2 mod sign greatest least coalesce "
    "lower upper length trim ltrim rtrim left right substring substr replace reverse concat "
    "concat_ws contains starts_with ends_with strpos instr split_part lpad rpad regexp_matches "
    "regexp_replace regexp_extract year quarter month week day dayofweek dayofyear hour minute second "
    "dayname monthname date_part date_trunc date_diff datediff date_add date_sub last_day make_date age "
    "strftime strptime epoch"
).split()
_TYPES = (
    "INTEGER INT BIGINT SMALLINT DOUBLE FLOAT REAL VARCHAR TEXT DATE TIMESTAMP TIME BOOLEAN DECIMAL"
).split()
_UNITS = "YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND".split()
_NUM_WITH, NUM_NAMED = 3, 9  # WITH queries w1.., and named columns c1..
_ALIASES = "[a-z] | [t] [1-9]"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MOST_BYTES = 20_000  # of all names; above it a table's name is followed by any table's columns


def select_grammar(schema: Schema) -> str:
    """The EBNF, as xgrammar reads it, of SELECT statements whose tables and columns are this schema's.

    WITH queries are named w1 to w3, output columns c1 to c9, tables a to z or t1 to t9. Names are spelt as in
    the schema, in quotes or bare; keywords are in capital letters; only some functions may be called.
    """
    words = {
        "scalar": _both_cases(SCALARS),
        "aggregated": _both_cases(AGGREGATES),
        "window": _both_cases(WINDOWS),
        "type_name": _TYPES,
        "unit": _UNITS,
    }
    rules = [f"{name} ::= {' | '.join(map(_literal, each))}" for name, each in words.items()]
    return "\n".join([_RULES.strip(), *rules, *_name_rules(schema)]) + "\n"


def _both_cases(names: list[str]) -> list[str]:
    """The names in small and in capital letters."""
    return [spelt for name in names for spelt in (name.lower(), name.upper())]


def _name_rules(schema: Schema) -> list[str]:
    """Rules `table`, `column`, `any_column` and `all_columns` (a name and an asterisk).

    A column stands alone, after its table's name, or after an alias. Which table an alias stands for is not
    told, so that any table's column may follow one.
    """
    columns = list(dict.fromkeys(column.name for _, column in schema.columns))
    rules = [
        f"alias ::= {_ALIASES}",
        f"named ::= [c] [1-{NUM_NAMED}]",
        f"with_name ::= [w] [1-{_NUM_WITH}]",
        f"any_column ::= named | {_choices(columns)}",
        f"table ::= with_name | {_alternatives(_from_spellings(schema.tables))}",
    ]
    own = _own_columns(schema)
    rules += [f"columns_{at} ::= {_choices(names)}" for at, (_, names) in enumerate(own)]
    of_table = [f'{before} "." columns_{at}' for at, (before, _) in enumerate(own)]
    before = f"( alias | with_name | {_choices(each.name for each in schema.tables)} )"
    rules.append(f'column ::= any_column | ( alias | with_name ) "." any_column | {" | ".join(of_table)}')
    rules.append(f'all_columns ::= ( {before} "." )? "*"')
    return rules


def _own_columns(schema: Schema) -> list[tuple[str, list[str]]]:
    """How each table's name may be spelt before its columns, and which these are."""
    if sum(len(column.name) for _, column in schema.columns) > _MOST_BYTES:
        names = list(dict.fromkeys(column.name for _, column in schema.columns))
        return [(f"( {_choices(each.name for each in schema.tables)} )", names)]
    by_name: dict[str, list[str]] = {}
    for table in schema.tables:
        by_name.setdefault(table.name, []).extend(column.name for column in table.columns)
    return [(f"( {_choices([name])} )", list(dict.fromkeys(columns))) for name, columns in by_name.items()]


def _from_spellings(tables: Iterable[Table]) -> list[str]:
    """How FROM may name the tables: qualified where they are."""
    spellings: list[str] = []
    for table in tables:
        spelt = [""]
        for part in (*table.qualifier, table.name):
            spelt = [f"{before}.{way}" if before else way for before in spelt for way in _spellings(part)]
        spellings += spelt
    return spellings


def _choices(names: Iterable[str]) -> str:
    return _alternatives(way for name in names for way in _spellings(name))


def _alternatives(texts: Iterable[str]) -> str:
    return " | ".join(_literal(text) for text in dict.fromkeys(texts))


def _spellings(name: str) -> list[str]:
    """A name in quotes, and bare where DuckDB takes it so."""
    is_plain = _PLAIN.match(name) and name.lower() not in _keywords()
    return [name, quoted(name)] if is_plain else [quoted(name)]


def _literal(text: str) -> str:
    """A text as a terminal of xgrammar's EBNF."""
    return json.dumps(text, ensure_ascii=False)


@cache
def _keywords() -> frozenset[str]:
    """The words that DuckDB does not take as the name of each of table and column."""
    with duckdb.connect() as con:
        rows = con.execute(
            "SELECT keyword_name FROM system.main.duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        ).fetchall()
    return frozenset(name for (name,) in rows)
