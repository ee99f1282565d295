"""llm with rules for its answers, in SQL."""

from __future__ import annotations

import pytest

from relserve.api import connect
from relserve.errors import OptionError

RULES = '\'root ::= [1-9] [0-9]? " hours" | "unknown"\''


def test_answers_keep_to_the_rules() -> None:
    with connect(model="scripted", progress=False) as con:
        sql = f"SELECT llm('How long? {{}}', review::VARCHAR, grammar := {RULES}) FROM range(100) t(review)"
        answers = [answer for (answer,) in con.execute(sql).fetchall()]
        assert len(answers) > 50
        assert {answer.split()[-1] for answer in answers} == {"hours", "unknown"}


def test_rules_that_are_none_fail_before_anything_is_asked() -> None:
    with connect(model="scripted", progress=False) as con:
        with pytest.raises(OptionError, match="line 1, column 1 of the grammar: a rule, like: root ::="):
            con.execute("SELECT llm('{}', name, grammar := 'yes | no') FROM (SELECT 'a' AS name)").fetchall()
        assert con.execute("FROM llm_queries()").fetchall() == []
