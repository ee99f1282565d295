"""`FROM llm_evaluate(table, answer, label)`: how often an expression is right beside labels, as one row.

A table macro in plain SQL. The answers are any expression, such as an llm call, and are asked as in any other
statement. An answer that the label's type cannot hold is wrong. Functions and operators have their catalog
and schema before them, as all macros here.
"""

from __future__ import annotations

from relserve.evaluation.intervals import Z

EVALUATE = "llm_evaluate"


def definition() -> str:
    """The parameters and the body of the macro; the interval is Wilson's, see `measured_share`."""
    given, wanted = (_without_space(name) for name in ("given", "wanted"))
    is_right = f"TRY(given = wanted) OR {given} = {wanted}"
    low, high = _ends("num_right::DOUBLE", "num_rows::DOUBLE")
    return f"""(data, answer, label) AS TABLE WITH asked AS MATERIALIZED (
            SELECT answer AS given, label AS wanted FROM system.main.query_table(data) WHERE label IS NOT NULL
        ), counted AS (
            SELECT system.main.count(wanted) AS num_rows,
                   system.main.count(wanted) FILTER (WHERE {is_right}) AS num_right,
                   system.main.count(wanted) FILTER (WHERE given IS NULL) AS num_null
            FROM asked
        )
        SELECT num_rows AS "rows", num_right AS right_answers, num_null AS null_answers,
               CASE WHEN num_rows > 0 THEN {_op("/", "num_right::DOUBLE", "num_rows")} END AS accuracy,
               CASE WHEN num_rows > 0 THEN system.main.greatest(0, {low}) END AS accuracy_low,
               CASE WHEN num_rows > 0 THEN system.main.least(1, {high}) END AS accuracy_high
        FROM counted"""


def _without_space(value: str) -> str:
    """A value's text with one space for each piece of white space."""
    return f"system.main.regexp_replace(system.main.trim({value}::VARCHAR), '\\s+', ' ', 'g')"


def _ends(right: str, rows: str) -> tuple[str, str]:
    """The lower and the upper end of the interval."""
    share, z2 = _op("/", right, rows), f"{Z * Z}::DOUBLE"
    scale = _op("+", "1", _op("/", z2, rows))
    middle = _op("+", share, _op("/", z2, _op("*", "2", rows)))
    variance = _op("/", _op("*", share, _op("-", "1", share)), rows)
    spread = _op("+", variance, _op("/", z2, _op("*", "4", _op("*", rows, rows))))
    half = _op("*", f"{Z}::DOUBLE", f"system.main.sqrt({spread})")
    return _op("/", _op("-", middle, half), scale), _op("/", _op("+", middle, half), scale)


def _op(operator: str, left: str, right: str) -> str:
    return f'system.main."{operator}"({left}, {right})'
