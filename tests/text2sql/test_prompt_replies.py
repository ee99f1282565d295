"""Replies: the SQL or JSON in them, whatever stands around it."""

from typing import Any

import pytest

from relserve.text2sql.prompts.replies import json_in, says_none, sql_in

SQL = "SELECT a\nFROM t\nWHERE b = 'x; y'"


@pytest.mark.parametrize(
    "reply",
    [
        SQL,
        f"{SQL};",
        f"```sql\n{SQL};\n```",
        f"```\n{SQL}\n```\nThis counts.",
        f"First some parts:\n```text\nnot this\n```\nthen\n```SQL\n{SQL}\n```",
        f"A first try:\n```sql\nSELECT 1\n```\nBetter:\n```sql\n{SQL}\n```",
        f"<think>```sql\nSELECT 1\n```</think>\n{SQL}",
        f"Here is the query:\n{SQL};\n\nIt selects what is asked for.",
        f"SQL: {SQL}",
        f"```sql\n{SQL}",
        '{"sql": "SELECT a\\nFROM t\\nWHERE b = \'x; y\'"}',
    ],
)
def test_the_sql_is_found_and_nothing_else(reply: str) -> None:
    assert sql_in(reply) == SQL


@pytest.mark.parametrize(
    "reply", ["", "I cannot help with that.", "```sql\n;\n```", "none", "{}", "selected"]
)
def test_where_there_is_no_sql_none_is_made_up(reply: str) -> None:
    assert sql_in(reply) is None


def test_a_second_statement_is_not_cut_off() -> None:
    """Else what may not run would look as if it might."""
    assert sql_in("```sql\nSELECT 1; DROP TABLE t\n```") == "SELECT 1; DROP TABLE t"


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('["a", "b"]', ["a", "b"]),
        ('Sure [1]: ```json\n{"t": ["c"]}\n```', {"t": ["c"]}),
        ('The tables {are these}: {"t": ["c"]}', {"t": ["c"]}),
        ("<think>[1]</think>[true, false] as said", [True, False]),
        ("nothing", None),
        ("[" * 5000, None),
    ],
)
def test_json_is_found(reply: str, found: Any) -> None:
    assert json_in(reply, dict if isinstance(found, dict) else list) == found


def test_none_is_understood_only_alone() -> None:
    assert says_none("None.")
    assert says_none("<think>hm</think>none")
    assert not says_none("none of these, but SELECT 1")
