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

# types of values that are vectors, and need no other; [1, 0.5] is a list of DECIMAL
_VECTORS = r"^(FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?)\[\d*\]$"


def vector(value: str, model: str = "model") -> str:
    """The vector of a value: itself where it is one, else what llm_embed gives."""
    is_vector = f"system.main.regexp_matches(system.main.typeof({value}), '{_VECTORS}')"
    embedded = f"temp.main.llm_embed({value}, model := {model})"
    return f"CASE WHEN {is_vector} THEN {value}::FLOAT[] ELSE {embedded} END"


def cosine(left: str, right: str, given: str) -> str:
    """The similarity of two vectors where none of what is given is NULL: a NULL of FLOAT[n] is an error."""
    return f"CASE WHEN {given} THEN system.main.list_cosine_similarity({left}, {right}) END"


class Checked(NamedTuple):
    """A parameter of a table macro.

    Attributes:
        value: a number that it is. DuckDB has it before it plans, so it is some number where `check` fails.
        check: true, or an error that tells what the parameter must be.
        given: the parameter itself, or that error.
    """

    value: str
    check: str
    given: str


def count(function: str, name: str, most: int | None = None) -> Checked:
    """The number of rows that a parameter of a function is; NULL, for all rows, where there is no most."""
    number, same = (f"TRY_CAST({name}::VARCHAR AS {kind})" for kind in ("BIGINT", "DOUBLE"))
    is_right, must = f"{number} >= 1 AND {number} = {same}", "a whole number of 1 or more"
    if most is not None:
        is_right, must = f"{is_right} AND {number} <= {most}", f"a whole number from 1 to {most}"
    return _checked(function, name, number, is_right, must, takes_null=most is None)


def similarity_of(function: str, name: str) -> Checked:
    """The similarity that a parameter of a function is."""
    number = f"TRY_CAST({name}::VARCHAR AS DOUBLE)"
    return _checked(function, name, number, f"system.main.isfinite({number})", f"a number such as {SAME}")


def model_name(function: str, name: str) -> Checked:
    """The model that a parameter of a function names; NULL for the default."""
    return _checked(function, name, name, _is_text(name), "a model''s name", takes_null=True)


def template(function: str, name: str, takes_null: bool = False) -> Checked:
    """The template that a parameter of a function is."""
    is_right = f"{_is_text(name)} AND system.main.contains({name}::VARCHAR, '{{')"
    return _checked(function, name, name, is_right, "a template such as ''Sum up: {}''", takes_null)


def _is_text(name: str) -> str:
    return f"system.main.typeof({name}) = 'VARCHAR' AND system.main.trim({name}::VARCHAR) <> ''"


def _checked(
    function: str, name: str, number: str, is_right: str, must: str, takes_null: bool = False
) -> Checked:
    null = f"WHEN {name} IS NULL THEN {{}} " if takes_null else ""
    told = f"'{function}(): {name} must be {must}, not ', COALESCE({name}::VARCHAR, 'NULL')"
    error = f"system.main.error(system.main.concat({told}))::BOOLEAN"
    check = f"CASE {null.format('true')}WHEN {is_right} THEN true ELSE {error} END"
    return Checked(
        f"CASE {null.format('NULL')}WHEN {is_right} THEN {number} ELSE 1 END",
        check,
        f"CASE WHEN {check} THEN {name} END",
    )


def similar() -> str:
    """The parameters and the body of llm_similar."""
    similarity = cosine(vector("value"), vector("wanted"), "value IS NOT NULL")
    parameters, k = f"(data, value, wanted, k := {MOST_ROWS}, model := NULL)", count(SIMILAR, "k")
    return f"""{parameters} AS TABLE SELECT *, {similarity} AS similarity FROM system.main.query_table(data)
        WHERE {k.check} ORDER BY similarity DESC NULLS LAST LIMIT {k.value}"""


def dedup() -> str:
    """The parameters and the body of llm_dedup. Rows without a vector stay."""
    similarity, least = _of_rows("later", "earlier"), similarity_of(DEDUP, "similarity")
    return f"""(data, value, similarity := {SAME}, model := NULL) AS TABLE {_numbered("data", "value")}
        SELECT * EXCLUDE (__llm_row, __llm_vector) FROM __llm_data later WHERE {least.check} AND NOT EXISTS (
            SELECT 1 FROM __llm_data earlier
            WHERE earlier.__llm_row < later.__llm_row AND {similarity} >= {least.value}
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
