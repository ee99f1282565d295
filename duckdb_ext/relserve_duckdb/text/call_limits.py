"""What an llm call may be given, told before anything runs and once more where only DuckDB can tell."""

from __future__ import annotations

MAX_VALUES = 8  # values a call may give after its template


def too_many_values(function: str) -> str:
    return f"{function}() takes at most {MAX_VALUES} values after the template"


def varying_template(function: str) -> str:
    return (
        f"the template of {function}() must be the same for all rows; "
        f"give what varies as a value: {function}('{{}}', column)"
    )
