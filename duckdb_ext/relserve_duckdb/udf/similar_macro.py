"""`FROM llm_similar(..)`, `llm_dedup(..)` and `llm_sim_join(..)`: rows of similar meaning, as tables.

Table macros in plain SQL over llm_embed. Functions have their catalog and schema before them, as in all
macros here.
"""

from __future__ import annotations

from typing import NamedTuple

SIMILAR, DEDUP, SIM_JOIN = "llm_similar", "llm_dedup", "llm_sim_join"
MOST_ROWS = 10  # where a call says no k
MOST_PARTNERS = 999_999  # that DuckDB's arg_max gives
SAME = 0.95  # similarity from which llm_dedup takes two rows for one, where a call says nothing

_VECTORS = r"^(FLOAT|DOUBLE)\[\d*\]$"  # types of values that are vectors, and need no other


def vector(value: str, model: str = "model") -> str:
    """The vector of a value: itself where it is one, else what llm_embed gives."""
    is_vector = f"system.main.regexp_matches(system.main.typeof({value}), '{_VECTORS}')"
    embedded = f"temp.main.llm_embed({value}, model := {model})"
    return f"CASE WHEN {is_vector} THEN {value}::FLOAT[] ELSE {embedded} END"


def cosine(left: str, right: str, given: str) -> str:
    """The similarity of two vectors where none of what is given is NULL: a NULL of FLOAT[n] is an error."""
    return f"CASE WHEN {given} THEN system.main.list_cosine_similarity({left}, {right}) END"


class Count(NamedTuple):
    """A parameter that is a number of rows.

    Attributes:
        value: the number. DuckDB has it before it plans, so it is some number where `check` fails.
        check: true, or an error that tells what the parameter must be.
    """

    value: str
    check: str


def count(function: str, name: str, most: int | None = None) -> Count:
    """The count that a parameter of a function is; NULL, for all rows, where there is no most."""
    number = f"TRY_CAST({name} AS BIGINT)"
    is_right = f"{number} >= 1 AND {number} = TRY_CAST({name} AS DOUBLE)"
    must = f"{function}(): {name} must be a whole number of 1 or more"
    null = f"WHEN {name} IS NULL THEN {{}} "
    if most is not None:
        is_right, null = f"{is_right} AND {number} <= {most}", ""
        must = f"{function}(): {name} must be a whole number from 1 to {most}"
    told = f"system.main.concat('{must}, not ', COALESCE({name}::VARCHAR, 'NULL'))"
    return Count(
        f"CASE {null.format('NULL')}WHEN {is_right} THEN {number} ELSE 1 END",
        f"CASE {null.format('true')}WHEN {is_right} THEN true ELSE system.main.error({told})::BOOLEAN END",
    )


def similar() -> str:
    """The parameters and the body of llm_similar."""
    similarity = cosine(vector("value"), vector("wanted"), "value IS NOT NULL")
    parameters, k = f"(data, value, wanted, k := {MOST_ROWS}, model := NULL)", count(SIMILAR, "k")
    return f"""{parameters} AS TABLE SELECT *, {similarity} AS similarity FROM system.main.query_table(data)
        WHERE {k.check} ORDER BY similarity DESC NULLS LAST LIMIT {k.value}"""


def dedup() -> str:
    """The parameters and the body of llm_dedup. Rows without a vector stay."""
    similarity = _of_rows("later", "earlier")
    told = f"system.main.error('{DEDUP}(): similarity must be a number, not NULL')"
    is_number = f"CASE WHEN similarity IS NULL THEN {told}::BOOLEAN ELSE true END"
    return f"""(data, value, similarity := {SAME}, model := NULL) AS TABLE {_numbered("data", "value")}
        SELECT * EXCLUDE (__llm_row, __llm_vector) FROM __llm_data later WHERE {is_number} AND NOT EXISTS (
            SELECT 1 FROM __llm_data earlier
            WHERE earlier.__llm_row < later.__llm_row AND {similarity} >= similarity
        ) ORDER BY __llm_row"""


def sim_join() -> str:
    """The parameters and the body of llm_sim_join. Rows without a vector have no partner."""
    similarity = _of_rows("a", "b")
    pair = f"system.main.struct_pack(r := b.__llm_row, s := {similarity})"
    k = count(SIM_JOIN, "k", MOST_PARTNERS)
    best = f"system.main.arg_max({pair}, {similarity}, {k.value})"
    left, right = _numbered("data", "value", "__llm_a"), _numbered("other", "wanted", "__llm_b")
    return f"""(data, value, other, wanted, k := 1, model := NULL) AS TABLE {left},
        {right.removeprefix("WITH ")},
        __llm_pairs AS MATERIALIZED (
            SELECT a.__llm_row AS l, system.main.unnest({best}, max_depth := 2)
            FROM __llm_a a, __llm_b b WHERE {k.check} AND {similarity} IS NOT NULL GROUP BY a.__llm_row
        )
        SELECT a.* EXCLUDE (__llm_row, __llm_vector), b.* EXCLUDE (__llm_row, __llm_vector), s AS similarity
        FROM __llm_pairs JOIN __llm_a a ON l = a.__llm_row JOIN __llm_b b ON r = b.__llm_row
        ORDER BY a.__llm_row, s DESC, b.__llm_row"""


def _of_rows(a: str, b: str) -> str:
    left, right = f"{a}.__llm_vector", f"{b}.__llm_vector"
    return cosine(left, right, f"{left} IS NOT NULL AND {right} IS NOT NULL")


def _numbered(data: str, value: str, name: str = "__llm_data") -> str:
    """A CTE: the rows of a table with their numbers and the vectors of a value."""
    return f"""WITH {name} AS MATERIALIZED (
            SELECT system.main.row_number() OVER () AS __llm_row, {vector(value)} AS __llm_vector, *
            FROM system.main.query_table({data})
        )"""
