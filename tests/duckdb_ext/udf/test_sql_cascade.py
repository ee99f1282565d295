"""Cascades of llm_filter in SQL: what is asked of which model, what is kept, what fails."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import relserve
from relserve.api import ENGINES
from relserve.call.relquery import Reply, Submission
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import Failure, FailureKind, OptionError, RowError, RowsFailedWarning

NUM_ROWS = 3000
FILTER = "llm_filter('Is it good? {}', x, model := 'large', cascade := 'small'"


def is_good(prompt: str) -> bool:
    """What the large model says: yes to three rows of ten."""
    return zlib.crc32(prompt.split("? ")[-1].encode()) % 10 < 3


class Small(ScriptedEngine):
    """Gives a high probability to most rows that the large model says yes to."""

    def _weighed(self, index: int, prompt: str, submission: Submission) -> Reply:
        noise = zlib.crc32(prompt.encode()) % 1000 / 1000
        yes = 0.6 + 0.4 * noise if is_good(prompt) else 0.45 * noise
        return Reply(index, "yes", probabilities=(yes, 1 - yes))


class Unsure(ScriptedEngine):
    """Gives all rows the same probability."""

    def _weighed(self, index: int, prompt: str, submission: Submission) -> Reply:
        return Reply(index, "yes", probabilities=(0.5, 0.5))


@pytest.fixture
def large() -> Iterator[ScriptedEngine]:
    large = ScriptedEngine(
        lambda prompt, submission: "yes" if is_good(prompt) else "no", model="large", identity="large"
    )
    ENGINES.put("large", large)
    ENGINES.put("small", Small(model="small", identity="small"))
    yield large
    for name in ("large", "small"):
        ENGINES.close(name)


@pytest.fixture
def con(large: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> relserve.Connection:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "64")
    con = relserve.connect(model="scripted")
    con.execute(f"CREATE TABLE rows_ AS SELECT i, 'row ' || i AS x FROM range({NUM_ROWS}) t(i)")
    return con


def shares(con: relserve.Connection, sql: str) -> tuple[float, float]:
    """Precision and recall of the rows that a statement gives, by the large model."""
    kept = {x for (x,) in con.sql(sql).fetchall()}
    good = {f"row {i}" for i in range(NUM_ROWS) if is_good(f"? row {i}")}
    return len(kept & good) / len(kept), len(kept & good) / len(good)


def test_a_good_small_model_decides_most_rows(con: relserve.Connection, large: ScriptedEngine) -> None:
    precision, recall = shares(con, f"SELECT x FROM rows_ WHERE {FILTER})")
    assert precision >= 0.95
    assert recall >= 0.95
    assert large.num_prompts < NUM_ROWS / 2
    told = con.sql("SELECT function, model, distinct_prompts, cascade FROM llm_queries()").fetchall()
    assert [each[:3] for each in told] == [
        ("llm_prob", "small", NUM_ROWS), ("llm_filter", "large", large.num_prompts)
    ]  # fmt: skip
    assert told[0][3] == told[1][3]
    assert f"{large.num_prompts} of {NUM_ROWS} prompts asked" in told[0][3]


@pytest.mark.long
def test_rows_in_another_order_are_decided_the_same_and_nothing_is_asked_twice(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    first = set(con.sql(f"SELECT x FROM rows_ WHERE {FILTER})").fetchall())
    num_asked = large.num_prompts
    second = set(con.sql(f"SELECT x FROM (FROM rows_ ORDER BY i DESC) WHERE {FILTER})").fetchall())
    assert second == first
    assert large.num_prompts == num_asked
    con.sql("SELECT count(*) FROM rows_ WHERE llm_filter('Is it good? {}', x, model := 'large')").fetchall()
    assert large.num_prompts == NUM_ROWS, "a plain filter takes what the cascade asked, and asks the rest"


@pytest.mark.long
def test_a_dataframe_is_decided_as_its_table(con: relserve.Connection, large: ScriptedEngine) -> None:
    kept = con.sql(f"SELECT x, {FILTER}) FROM rows_ ORDER BY i").fetchall()
    num_asked = large.num_prompts
    frame = con.sql("SELECT x FROM rows_ ORDER BY i").df()
    answers = relserve.llm_filter(frame, "Is it good? {x}", model="large", cascade="small")
    assert answers.tolist() == [answer for _, answer in kept]
    assert large.num_prompts == num_asked, "all of it was kept"


@pytest.mark.long
def test_the_highest_targets_give_the_large_models_answers(con: relserve.Connection) -> None:
    assert shares(con, f"SELECT x FROM rows_ WHERE {FILTER}, precision := 1, recall := 1)") == (1.0, 1.0)


def test_null_is_null_and_a_row_that_the_large_model_fails_is_null_on_record(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    large.script = lambda prompt, submission: Failure(FailureKind.REFUSED, "too rude")
    rows = con.sql(f"SELECT {FILTER}) FROM (VALUES ('a'), ('b'), (NULL)) t(x)").fetchall()
    assert rows == [(None,)] * 3
    assert con.sql("SELECT DISTINCT function, message FROM llm_errors()").fetchall() == [
        ("llm_filter", "too rude")
    ]


def test_few_failed_rows_do_not_have_the_others_asked(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    con.sql(f"SELECT x FROM rows_ WHERE {FILTER})").fetchall()
    num_asked = large.num_prompts

    def refuses_some(prompt: str, submission: Submission) -> str | Failure:
        if zlib.crc32(prompt[::-1].encode()) % 1000 < 10:
            return Failure(FailureKind.REFUSED, "too rude")
        return "yes" if is_good(prompt) else "no"

    large.script = refuses_some
    with pytest.warns(RowsFailedWarning):
        told = con.sql(f"SELECT {FILTER}, system := 'Be brief.') FROM rows_").fetchall()
    assert large.num_prompts - num_asked < 1.5 * num_asked
    assert (None,) in told


def test_after_a_crash_no_prompt_is_answered_twice(con: relserve.Connection, large: ScriptedEngine) -> None:
    answered: list[str] = []

    def breaks_off(prompt: str, submission: Submission) -> str:
        if len(answered) == 150:
            raise RuntimeError("the engine broke off")
        answered.append(prompt)
        return "yes" if is_good(prompt) else "no"

    def goes_on(prompt: str, submission: Submission) -> str:
        answered.append(prompt)
        return "yes" if is_good(prompt) else "no"

    large.chunk, large.script = 1, breaks_off
    with pytest.raises(Exception, match="broke off"):
        con.sql(f"SELECT x FROM rows_ WHERE {FILTER})").fetchall()
    assert len(answered) == 150
    large.script = goes_on
    precision, recall = shares(con, f"SELECT x FROM rows_ WHERE {FILTER})")
    assert min(precision, recall) >= 0.95
    assert len(answered) == len(set(answered))


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x FROM rows_ WHERE {} AND llm_filter('Long? {{}}', x)",
        "SELECT x FROM rows_ WHERE {} ORDER BY i LIMIT 5",
        "SELECT x, {} FROM rows_ ORDER BY i LIMIT 5",
        "SELECT count(*) FILTER (WHERE {}) FROM rows_",
    ],
)
def test_other_statements_give_the_rows_of_the_plain_filter(con: relserve.Connection, sql: str) -> None:
    """At the highest targets a cascade gives the large model's answers, wherever it stands."""
    sure = f"{FILTER}, precision := 1, recall := 1)"
    plain = "llm_filter('Is it good? {}', x, model := 'large')"
    both = [con.sql(sql.format(each)).fetchall() for each in (sure, plain)]
    assert sorted(both[0], key=str) == sorted(both[1], key=str)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("llm_filter('{}', 'x', cascade := 'scripted')", "answers the call itself"),
        ("llm_filter('{}', 'x', model := 'large', cascade := 'large')", "both 'large'"),
        ("llm_filter('{}', 'x', recall := 0.9)", "recall needs cascade"),
        ("llm_filter('{}', 'x', cascade := 'small', precision := 1.5)", "precision"),
        ("llm_filter('{}', 'x', cascade := 'small', min_confidence := 0.5)", "min_confidence"),
        ("llm_classify('{}', 'x', choices := ['a', 'b'], accuracy := 0.9)", "accuracy needs cascade"),
        ("llm_classify('{}', 'x', choices := ['a', 'b'], cascade := 'small', recall := 1)", "'recall'"),
        ("llm_filter('{}', 'x', cascade := 'nosuchmodel')", "no model 'nosuchmodel'"),
    ],
)
def test_what_is_no_cascade_is_an_error(con: relserve.Connection, call: str, told: str) -> None:
    with pytest.raises((OptionError, relserve.ModelError, duckdb.Error), match=told):
        con.sql(f"SELECT {call}").fetchall()
    assert con.sql("SELECT state FROM llm_queries() WHERE state <> 'failed'").fetchall() == []


def test_a_small_model_that_tells_no_probability_is_an_error(con: relserve.Connection) -> None:
    ENGINES.put("small", ScriptedEngine(model="small", sure=lambda prompt: None))
    with pytest.raises(OptionError, match="told no probability of any row"):
        con.sql(f"SELECT {FILTER}) FROM rows_").fetchall()
    states = con.sql("SELECT function, state FROM llm_queries() ORDER BY rel_id").fetchall()
    assert ("llm_filter", "failed") in states, "though the large model was not asked"


@pytest.mark.long
def test_explain_tells_what_each_model_likely_answers(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    sql = f"SELECT x FROM rows_ WHERE {FILTER})"
    before = con.explain_llm(sql)
    small, asked = before.table.to_pylist()
    assert (small["call"], small["function"], small["model"], small["rows"]) == (1, "llm_prob", "small", 3000)
    assert (asked["call"], asked["function"], asked["model"]) == (1, "llm_filter", "large")
    assert 300 < asked["distinct_prompts"] < 2000
    assert asked["prompt_tokens"] < small["prompt_tokens"] * 2 / 3
    assert "likely answers" in str(before)
    assert "if small orders rows with an AUC of 0.95" in " ".join(str(before).split())
    assert large.num_prompts == 0
    con.sql(sql).fetchall()
    _, after = con.explain_llm(sql).table.to_pylist()
    assert after["distinct_prompts"] == after["cached_answers"] == large.num_prompts
    assert after["prompt_tokens"] == 0


@pytest.mark.long
def test_a_cap_goes_by_what_is_expected_of_each_model(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    with pytest.raises(relserve.errors.SpendingError, match="cap of llm_filter"):
        con.sql(f"SELECT x FROM rows_ WHERE {FILTER}, max_rows := 100)").fetchall()
    con.sql(f"SELECT x FROM rows_ WHERE {FILTER}, max_rows := 2500)").fetchall()
    assert 0 < large.num_prompts < 2500


LABELLED = "llm_classify('Mood? {}', x, choices := ['calm', 'cross'], model := 'large'"


def mood(prompt: str) -> str:
    """What the large model says of a row."""
    return "calm" if is_good(prompt) else "cross"


class SmallMood(ScriptedEngine):
    """Is right, and sure, about most rows."""

    def _weighed(self, index: int, prompt: str, submission: Submission) -> Reply:
        noise = zlib.crc32(prompt.encode()) % 1000 / 1000
        calm = 0.55 + 0.45 * noise if is_good(prompt) else 0.5 * noise
        return Reply(index, "calm", probabilities=(calm, 1 - calm))


def test_a_classification_has_the_large_models_labels(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    large.script = lambda prompt, submission: mood(prompt)
    ENGINES.put("small", SmallMood(model="small", identity="small"))
    rows = con.sql(f"SELECT x, {LABELLED}, cascade := 'small', accuracy := 0.9) FROM rows_").fetchall()
    assert sum(label == mood(f"? {x}") for x, label in rows) >= 0.9 * NUM_ROWS
    assert large.num_prompts < NUM_ROWS / 2
    (told,) = con.sql("SELECT DISTINCT cascade FROM llm_queries()").fetchall()
    assert "accuracy at least 0.9" in told[0]
    sure = con.sql(f"SELECT x, {LABELLED}, cascade := 'small', accuracy := 1) FROM rows_").fetchall()
    assert all(label == mood(f"? {x}") for x, label in sure)


def test_a_label_that_the_large_model_fails_is_null_on_record(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    large.script = lambda prompt, submission: Failure(FailureKind.REFUSED, "too rude")
    rows = con.sql(f"SELECT {LABELLED}, cascade := 'small') FROM (VALUES ('a'), (NULL)) t(x)").fetchall()
    assert rows == [(None,), (None,)]


def test_a_cascade_that_a_cap_cuts_short_decides_nothing(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    ENGINES.close("small")
    ENGINES.put("small", Unsure(model="small", identity="small"))  # so that nearly all must be asked
    query = f"SELECT {FILTER}, max_rows := 2500), count(*) FROM rows_ GROUP BY ALL ORDER BY ALL"
    with pytest.warns(RowsFailedWarning) as warned:
        told = dict(con.sql(query).fetchall())
    assert f"{told[None]:,} of" in str([each.message for each in warned]), "as many as are NULL"
    asked = [prompt.split("? ")[-1] for each in large.submissions for prompt in each.prompts]
    assert len(asked) < NUM_ROWS
    assert told[None] == NUM_ROWS - len(asked)
    assert told[True] == sum(is_good(f"? {x}") for x in asked)
    ((record,),) = con.sql("SELECT DISTINCT cascade FROM llm_queries() WHERE cascade IS NOT NULL").fetchall()
    assert "cut short after" in record
    assert "at least" not in record


@pytest.mark.cells(2)
@pytest.mark.parametrize("kind", [FailureKind.DEADLINE, FailureKind.CAP, FailureKind.IN_BATCH])
@pytest.mark.parametrize("num_told", [0, 1])
def test_where_the_small_model_is_cut_short_rows_are_null(
    con: relserve.Connection, large: ScriptedEngine, kind: FailureKind, num_told: int
) -> None:
    class Late(Small):
        def _weighed(self, index: int, prompt: str, submission: Submission) -> Reply:
            if index < num_told:
                return super()._weighed(index, prompt, submission)
            return Reply(index, None, Failure(kind, "not now"))

    ENGINES.close("small")
    ENGINES.put("small", Late(model="small", identity="small"))
    with pytest.warns(RowsFailedWarning):
        assert con.sql(f"SELECT DISTINCT {FILTER}) FROM rows_").fetchall() == [(None,)]
    assert large.num_prompts == 0
    assert con.sql("SELECT sum(rows) FROM llm_errors()").fetchall() == [(NUM_ROWS,)]
    with pytest.raises(RowError, match="not now"):
        con.sql(f"SELECT {FILTER}, on_error := 'raise') FROM rows_").fetchall()
