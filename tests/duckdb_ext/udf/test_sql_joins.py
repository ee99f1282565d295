"""Joins on llm_filter: rows as DuckDB gives them, few prompts, and pairs where nothing else agrees."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import relserve
from relserve.api import ENGINES
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import Failure, FailureKind, OptionError, RowsFailedWarning

NUM_ITEMS, NUM_GROUPS = 90, 30
NUM_PAIRS = NUM_ITEMS * NUM_GROUPS
_PAIR = re.compile(r"Is item (\d+) in group (\d+)\?")


def joined(strategy: str, more: str = "") -> str:
    return f"llm_filter('Is {{}} in {{}}?', x, y, join := '{strategy}'{more})"


def is_match(item: int, group: int) -> bool:
    return item * 7 % NUM_GROUPS == group or item * 7 % 90 == group


def answer(prompt: str, submission: Submission) -> str:
    """What the model says of one pair, or of all pairs of two lists."""
    if pair := _PAIR.search(prompt):
        return "yes" if is_match(*map(int, pair.groups())) else "no"
    items = re.findall(r"^(\d+)\. item (\d+)$", prompt, re.MULTILINE)
    groups = re.findall(r"^(\d+)\. group (\d+)$", prompt, re.MULTILINE)
    found = [(int(i), int(j)) for i, item in items for j, group in groups if is_match(int(item), int(group))]
    if 1 in (len(items), len(groups)):
        return json.dumps({"matches": [pair[len(items) == 1] for pair in found]})
    return json.dumps({"matches": found})


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ScriptedEngine]:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    large = ScriptedEngine(answer, model="large", identity="large")
    ENGINES.put("large", large)
    yield large
    ENGINES.close("large")


@pytest.fixture
def con(large: ScriptedEngine) -> relserve.Connection:
    con = relserve.connect(model="large")
    con.execute(f"CREATE TABLE a AS SELECT i, 'item ' || i AS x FROM range({NUM_ITEMS}) t(i)")
    con.execute(f"CREATE TABLE b AS SELECT j, 'group ' || j AS y FROM range({NUM_GROUPS}) t(j)")
    con.execute("INSERT INTO a VALUES (-1, NULL)")
    con.execute("INSERT INTO b VALUES (-1, NULL)")
    return con


def plan(con: relserve.Connection) -> str:
    """How the pairs of the last join were asked."""
    found = con.sql("SELECT join_plan FROM llm_queries() WHERE function = 'llm_filter'").fetchall()
    return str(found[-1][0])


def matches() -> list[tuple[int, int]]:
    return [(i, j) for i in range(NUM_ITEMS) for j in range(NUM_GROUPS) if is_match(i, j)]


@pytest.mark.cells(1)
@pytest.mark.parametrize("strategy", ["classify", "blocks", "auto"])
def test_a_join_has_its_rows_for_few_prompts(
    con: relserve.Connection, large: ScriptedEngine, strategy: str
) -> None:
    rows = con.sql(f"SELECT i, j FROM a JOIN b ON {joined(strategy)} ORDER BY i, j").fetchall()
    assert rows == matches()
    assert large.num_prompts < NUM_PAIRS / 5
    told = plan(con)
    assert ("classify" if strategy == "classify" else "blocks") in told
    assert "F1 against pairs about 1.00" in told


@pytest.mark.cells(1)
@pytest.mark.parametrize("given", ["", ", join := 'pairs'", ", join := NULL"])
def test_nothing_is_approximated_unless_asked(
    con: relserve.Connection, large: ScriptedEngine, given: str
) -> None:
    rows = con.sql(f"SELECT i, j FROM a JOIN b ON llm_filter('Is {{}} in {{}}?', x, y{given})").fetchall()
    assert sorted(rows) == matches()
    assert large.num_prompts == NUM_PAIRS
    assert con.sql("SELECT function, join_plan FROM llm_queries()").fetchall() == [("llm_filter", None)]


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT i, j FROM a LEFT JOIN b ON {} ORDER BY i, j",
        "SELECT i, j FROM a RIGHT JOIN b ON {} AND i < 40 ORDER BY i, j",
        "SELECT i FROM a ANTI JOIN b ON {} ORDER BY i",
        "SELECT i FROM a SEMI JOIN b ON {} ORDER BY i",
        "SELECT i FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {}) ORDER BY i",
        "SELECT i, j FROM a JOIN b ON {} AND i % 3 = j % 3 ORDER BY i, j",
        "SELECT i, j FROM a JOIN b ON {} AND i < 3 * j ORDER BY i, j",
        "SELECT i, j FROM a, b WHERE {} AND llm_filter('Is {{}} in group 3?', x) ORDER BY i, j",
        "SELECT i, j FROM a, b WHERE NOT {} ORDER BY i, j LIMIT 7",
        "SELECT i, j FROM a, b WHERE {} ORDER BY i DESC, j LIMIT 5 OFFSET 2",
        "SELECT count(*) FROM a FULL JOIN b ON {}",
        "SELECT i, j, {} AS said FROM a, b ORDER BY i, j",
    ],
)
def test_rows_are_those_of_pairs(con: relserve.Connection, sql: str) -> None:
    both = [con.sql(sql.format(joined(strategy))).fetchall() for strategy in ("auto", "pairs")]
    assert both[0] == both[1]
    assert both[0]


def test_a_limit_has_as_many_rows_of_the_join(con: relserve.Connection) -> None:
    rows = con.sql(f"SELECT i, j FROM a JOIN b ON {joined('auto')} LIMIT 4").fetchall()
    assert len(set(rows)) == 4
    assert set(rows) <= set(matches())


@pytest.mark.cells(1)
@pytest.mark.parametrize("strategy", ["classify", "blocks", "candidates", "auto"])
def test_a_plan_that_does_not_agree_leaves_pairs_and_says_so(
    con: relserve.Connection, large: ScriptedEngine, strategy: str
) -> None:
    def forgets(prompt: str, submission: Submission) -> str:
        return answer(prompt, submission) if _PAIR.search(prompt) else '{"matches": []}'

    large.script = forgets
    rows = con.sql(f"SELECT i, j FROM a JOIN b ON {joined(strategy)} ORDER BY i, j").fetchall()
    assert rows == matches()
    assert "pairs, all asked: " in plan(con)
    assert "F1 against pairs about 0." in plan(con)


def test_targets_are_a_guarantee(con: relserve.Connection, large: ScriptedEngine) -> None:
    def forgets_some(prompt: str, submission: Submission) -> str:
        if _PAIR.search(prompt):
            return answer(prompt, submission)
        found = json.loads(answer(prompt, submission))["matches"]
        return json.dumps({"matches": found[: len(found) - len(found) // 30]})

    large.script = forgets_some
    targets = ", precision := 0.8, recall := 0.8"
    rows = con.sql(f"SELECT i, j FROM a JOIN b ON {joined('blocks', targets)}").fetchall()
    assert set(rows) <= set(matches())
    assert len(rows) >= 0.8 * len(matches())
    assert re.search(r"precision at least (0.[89]\d|1.00), recall at least (0.[89]\d|1.00)", plan(con))
    assert large.num_prompts < NUM_PAIRS
    sure = con.sql(
        f"SELECT i, j FROM a JOIN b ON {joined('auto', ', precision := 1, recall := 1')}"
    ).fetchall()
    assert sorted(sure) == matches()


def test_pairs_may_go_to_a_cascade(con: relserve.Connection, large: ScriptedEngine) -> None:
    ENGINES.put("small", ScriptedEngine(model="small"))
    more = ", cascade := 'small', precision := 1, recall := 1"
    rows = con.sql(f"SELECT i, j FROM a JOIN b ON {joined('classify', more)} ORDER BY i, j").fetchall()
    ENGINES.close("small")
    assert rows == matches()
    assert large.num_prompts < NUM_PAIRS
    assert "small decided the others" in str(con.sql("SELECT cascade FROM llm_queries()").fetchall())


def test_a_long_answer_is_asked_in_parts(con: relserve.Connection, large: ScriptedEngine) -> None:
    large.max_prompt_chars = 700
    rows = con.sql(f"SELECT i, j FROM a JOIN b ON {joined('blocks')} ORDER BY i, j").fetchall()
    assert rows == matches()
    assert "blocks" in plan(con)
    assert con.sql("FROM llm_errors()").fetchall() == []


@pytest.mark.long
def test_prompts_without_an_answer_leave_pairs(con: relserve.Connection, large: ScriptedEngine) -> None:
    def refuses(prompt: str, submission: Submission) -> str | Failure:
        if _PAIR.search(prompt):
            return answer(prompt, submission)
        return Failure(FailureKind.REFUSED, "no lists here")

    large.script = refuses
    rows = con.sql(f"SELECT i, j FROM a JOIN b ON {joined('classify')} ORDER BY i, j").fetchall()
    assert rows == matches()
    assert "no answer about 100% of its pairs" in plan(con)
    assert con.sql("FROM llm_errors()").fetchall() == []


def test_a_pair_that_fails_is_null_on_record(con: relserve.Connection, large: ScriptedEngine) -> None:
    large.script = lambda prompt, submission: Failure(FailureKind.REFUSED, "too rude")
    with pytest.warns(RowsFailedWarning):
        rows = con.sql(f"SELECT DISTINCT {joined('auto')} FROM a, b").fetchall()
    assert rows == [(None,)]
    assert con.sql("SELECT DISTINCT function, message FROM llm_errors()").fetchall() == [
        ("llm_filter", "too rude")
    ]


@pytest.mark.long
def test_a_cap_holds_for_lists_and_pairs_together(con: relserve.Connection, large: ScriptedEngine) -> None:
    with pytest.warns(RowsFailedWarning):
        rows = con.sql(f"SELECT {joined('classify', ', max_rows := 120')} FROM a, b").fetchall()
    assert large.num_prompts == 120
    assert (None,) in rows
    kinds = con.sql("SELECT DISTINCT function, kind FROM llm_errors()").fetchall()
    assert kinds == [("llm_filter", "cap")]


def test_where_each_pair_that_was_asked_failed_none_is_kept(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    large.script = lambda prompt, submission: Failure(FailureKind.REFUSED, "too rude")
    with pytest.warns(RowsFailedWarning):
        rows = con.sql(f"SELECT DISTINCT {joined('candidates', ', recall := 0.9')} FROM a, b").fetchall()
    assert rows == [(None,)]


def test_few_pairs_and_one_row_are_pairs(con: relserve.Connection) -> None:
    con.sql(f"SELECT i, j FROM a JOIN b ON i < 4 AND {joined('auto')}").fetchall()
    assert "pairs, all asked: there are only 120 pairs" in plan(con)


def test_explain_tells_the_plans_and_asks_nothing(con: relserve.Connection, large: ScriptedEngine) -> None:
    told = str(con.explain_llm(f"SELECT i, j FROM a JOIN b ON {joined('classify')}"))
    assert "tries classify among 30 (90 prompts)" in " ".join(told.split())
    assert "<= 2,700" in told
    told = str(con.explain_llm(f"SELECT i, j FROM a JOIN b ON i < 4 AND {joined('auto')}"))
    assert "asks all pairs, because there are only 120 pairs" in " ".join(told.split())
    assert not large.submissions


def test_a_dataframe_of_pairs_is_decided_as_its_tables(con: relserve.Connection) -> None:
    frame = con.sql("SELECT i, j, x, y FROM a, b WHERE x IS NOT NULL AND y IS NOT NULL").df()
    found = relserve.llm_filter(frame, "Is {x} in {y}?", model="large", join="auto")
    assert sorted(zip(frame.i[found], frame.j[found], strict=True)) == matches()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (joined("nested"), "must be one of 'pairs', 'classify'"),
        (joined("auto", ", min_confidence := 0.5"), "min_confidence is of the answer about one pair"),
        (joined("pairs", ", recall := 0.9"), "recall needs cascade"),
        ("llm_score('{} {}', x, y, join := 'auto')", "no option 'join'"),
    ],
)
def test_what_is_no_join_is_an_error(con: relserve.Connection, call: str, told: str) -> None:
    with pytest.raises((OptionError, duckdb.Error), match=told):
        con.sql(f"SELECT i FROM a, b WHERE {call}").fetchall()
