"""SQL literals of every type, and Python values as parameters, drawn by hypothesis."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from typing import Any, NamedTuple

from hypothesis import strategies as st


class Literal(NamedTuple):
    """An expression and whether its text in a prompt is what DuckDB prints for it."""

    sql: str
    prints_alike: bool = True


def quoted(text: str) -> str:
    """A text as a SQL literal."""
    return "'" + text.replace("'", "''") + "'"


# DuckDB's parser ends a text at a NUL; a lone surrogate cannot reach it
plain_texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
odd_texts = st.sampled_from(
    [
        "", " ", "'", '"', "{}", "{x}", "}}{{", "%s", "\\", "\n", "\t", "é", "日本", "🦆", "\u202e", "\ufeff",
        "NULL", "0", "a 7",
    ]
)  # fmt: skip
texts = st.one_of(plain_texts, odd_texts)

_INTEGERS = {
    "TINYINT": (-(2**7), 2**7 - 1), "SMALLINT": (-(2**15), 2**15 - 1), "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1), "HUGEINT": (-(2**127), 2**127 - 1), "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1), "UINTEGER": (0, 2**32 - 1),
    "UBIGINT": (0, 2**64 - 1), "UHUGEINT": (0, 2**127 - 1),
}  # fmt: skip
_TIMES = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))


def _of(kind: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Literal]:
    return values.map(lambda value: Literal(f"({quoted(str(value))}::{kind})"))


@st.composite
def _decimals(draw: st.DrawFn) -> Literal:
    width = draw(st.integers(1, 38))
    scale = draw(st.integers(0, width))
    digits = draw(st.integers(-(10**width) + 1, 10**width - 1))
    with decimal.localcontext(prec=60):
        number = decimal.Decimal(digits).scaleb(-scale)
    return Literal(f"('{number:f}'::DECIMAL({width}, {scale}))")


# without TIMETZ, BIT and the upper half of UHUGEINT: see KNOWN_LOSSES in test_sql_values.py
scalars: st.SearchStrategy[Literal] = st.one_of(
    texts.map(lambda text: Literal(quoted(text))),
    st.booleans().map(lambda value: Literal(str(value).lower())),
    st.sampled_from(sorted(_INTEGERS)).flatmap(lambda kind: _of(kind, st.integers(*_INTEGERS[kind]))),
    _decimals(),
    _of("DOUBLE", st.one_of(st.floats(), st.sampled_from([0.1, 1e15, 1e16, -0.0]))),
    _of("FLOAT", st.floats(width=32)),
    _of("DATE", st.dates()),
    _of("DATE", st.sampled_from(["infinity", "-infinity", "0044-03-15 (BC)", "20000-01-01"])),
    _of("TIME", st.times()),
    _of("TIMESTAMP", st.one_of(_TIMES, st.sampled_from(["infinity", "-infinity"]))),
    _of("TIMESTAMP_S", st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))),
    _of("TIMESTAMP_MS", st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))),
    _of("TIMESTAMP_NS", st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))),
    _of("TIMESTAMPTZ", _TIMES.map(lambda at: f"{at}+00")),
    st.tuples(st.integers(-99, 99), st.sampled_from(["year", "month", "day", "hour", "millisecond"])).map(
        lambda pair: Literal(f"(INTERVAL '{pair[0]} {pair[1]}')")
    ),
    _of("UUID", st.uuids()),
    _of("BIGNUM", st.integers(-(10**50), 10**50)),
    _of("JSON", st.sampled_from(['{"a": [1, null]}', "[]", "null", '"x"', "1.50"])),
    _of("ENUM('p', 'q', 'r s')", st.sampled_from(["p", "q", "r s"])),
    st.binary(max_size=6).map(
        lambda data: Literal("('" + "".join(f"\\x{byte:02X}" for byte in data) + "'::BLOB)", False)
    ),
    st.sampled_from(
        ["VARCHAR", "INTEGER", "DATE", "INTEGER[]", "STRUCT(a INTEGER)", "BLOB", "TIMESTAMPTZ"]
    ).map(lambda kind: Literal(f"(NULL::{kind})")),
)


def _nested(inner: st.SearchStrategy[Literal]) -> st.SearchStrategy[Literal]:
    def lists(item: Literal) -> st.SearchStrategy[str]:  # of one type: the same item, and NULLs
        return st.lists(st.sampled_from([item.sql, "NULL"]), max_size=3).map(", ".join)

    return st.one_of(
        inner.flatmap(lists).map(lambda items: Literal(f"[{items}]", False)),
        inner.map(lambda item: Literal(f"(array_value({item.sql}, NULL))", False)),
        st.tuples(inner, inner).map(
            lambda two: Literal(f"{{'a': {two[0].sql}, 'b c': {two[1].sql}}}", False)
        ),
        st.tuples(texts, inner).map(lambda two: Literal(f"MAP {{{quoted(two[0])}: {two[1].sql}}}", False)),
        inner.map(lambda item: Literal(f"union_value(u := {item.sql})", False)),
    )


literals: st.SearchStrategy[Literal] = st.one_of(
    scalars, scalars, st.recursive(scalars, _nested, max_leaves=4)
)

python_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8), odd_texts,
        st.sampled_from(["\ud800", "a\udfffb", "a\0b"]), st.binary(max_size=6), st.dates(), st.times(),
        st.datetimes(), st.datetimes(timezones=st.just(dt.timezone.utc)),
        st.timedeltas(dt.timedelta(-999), dt.timedelta(999)),
        st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-999, max_value=999),
        st.uuids(),
        st.sampled_from([uuid.NAMESPACE_DNS, object()]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)  # fmt: skip
