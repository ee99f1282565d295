"""A row's prompt is rendered where DuckDB hands its values over, and nowhere after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

import relserve
from relserve.call.template import BoundTemplate
from relserve.engines.scripted import ScriptedEngine, echo

TABLE = "CREATE TABLE t AS SELECT i, 'text ' || i % 40 AS text FROM range(100) r(i)"


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[Any, ...]]:
    """How often each row's values were rendered, by templates of several placeholders."""
    counts: Counter[tuple[Any, ...]] = Counter()
    render = BoundTemplate.render

    def counting(self: BoundTemplate, values: Sequence[Any]) -> str | None:
        counts[tuple(map(str, values))] += 1
        return render(self, values)

    monkeypatch.setattr(BoundTemplate, "render", counting)
    return counts


@pytest.mark.parametrize("call", ["llm('{} {}', text, i)", "llm_filter('{} {}', text, i)"])
def test_each_row_is_rendered_once_as_it_comes(call: str, rendered: Counter[tuple[Any, ...]]) -> None:
    engine = ScriptedEngine()
    con = relserve.connect(engine=engine, progress=False, prefetch=False)
    con.execute(TABLE)
    con.execute(f"SELECT {call} FROM t").fetchall()
    assert len(rendered) == engine.num_prompts == 100
    assert set(rendered.values()) == {1}


def test_a_call_that_is_rehearsed_is_rendered_once_more_to_find_its_answers(
    rendered: Counter[tuple[Any, ...]],
) -> None:
    con = relserve.connect(engine=ScriptedEngine(), progress=False)
    con.execute(TABLE)
    con.execute("SELECT llm('{} {}', text, i) FROM t").fetchall()
    assert set(rendered.values()) == {2}


def test_what_hangs_on_values_still_sees_them() -> None:
    """Free fields are ordered by all rows' values; llm_agg's groups are asked in parts."""
    engine = ScriptedEngine(script=echo)
    con = relserve.connect(engine=engine, progress=False)
    con.execute(TABLE)
    row = "{'i': i, 'text': repeat('word ', 40) || i % 2}"
    whole = f"SELECT llm('{{}}', {row}, field_order := 'free') FROM t WHERE i < 80"
    answers = [text for (text,) in con.execute(whole).fetchall()]
    assert answers[3] == f'{{"text": "{"word " * 40}1", "i": 3}}'
    assert len(answers) == engine.num_prompts == 80
    (told,) = con.execute("SELECT llm_agg('Sum up: {}', text) FROM t WHERE i < 2").fetchall()
    assert told == ("Sum up: \n1. text 0\n2. text 1",)
    (record,) = con.sql("SELECT rows, distinct_prompts FROM llm_queries() LIMIT 1").fetchall()
    assert record == (80, 80)
