"""SQL whose functions are DuckDB's own, whatever anybody has defined.

A macro's text is looked up where it is called: a user's `list_contains` would take the place of DuckDB's in
PostgreSQL's catalog, for all. Nobody can define anything in `system.main`.
"""

from functools import lru_cache

import duckdb
from duckdb import token_type as Kind

OWN_SCHEMA = "system.main."
_NO_CALL = frozenset([".", ")", "*", "::"])  # what stands before the name of a column, a type or an alias


def qualified(sql: str) -> str:
    """A text with `system.main.` before each function of DuckDB's that it calls by its bare name."""
    data = sql.encode()
    tokens = [(start, kind) for start, kind in duckdb.tokenize(sql) if kind != Kind.comment]
    starts = [start for start, _ in tokens]
    words = [_word(data, start, end) for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
    parts: list[str] = []
    past = 0
    for before, word, after, start in zip(["", *words], words, [*words[1:], ""], starts, strict=False):
        if after == "(" and before not in _NO_CALL and word.lower() in _functions():
            parts += data[past:start].decode(), OWN_SCHEMA
            past = start
    return "".join((*parts, data[past:].decode()))


def _word(data: bytes, start: int, end: int) -> str:
    """A token without the blanks and comments behind it."""
    return data[start:end].decode().split("--")[0].strip()


@lru_cache(maxsize=1)
def _functions() -> frozenset[str]:
    """DuckDB's functions, of a database in which nobody has defined any."""
    with duckdb.connect() as con:
        rows = con.execute("SELECT DISTINCT function_name FROM system.main.duckdb_functions()").fetchall()
    return frozenset(name.lower() for (name,) in rows if name.isidentifier())
