"""Cascades whose proxy is learnt in the query: 'embedding' in SQL and frames, and scores by a small model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import duckdb
import pytest

import relserve
from relserve.api import ENGINES
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import Failure, FailureKind, ModelError, OptionError, RowsFailedWarning

NUM_ROWS = 800
GOOD = ("lovely", "delicious", "friendly", "quick", "fresh", "wonderful", "tasty", "warm")
BAD = ("awful", "dirty", "rude", "slow", "stale", "terrible", "bland", "broken")
NEUTRAL = ("table", "waiter", "street", "soup", "Monday", "kitchen", "window", "bread", "train", "letter")


def text_of(number: int) -> str:
    """A row's text, most words of which tell how good it is."""
    random = Random(number)
    words = GOOD if random.random() < 0.4 else BAD
    return " ".join([*random.choices(words, k=4), *random.choices(NEUTRAL, k=4), str(number)])


def score_of(prompt: str) -> int:
    """Good words by bad ones, from 0 to 4."""
    return sum(word in GOOD for word in prompt.split())


def answer_of(prompt: str, submission: Submission) -> str:
    """What the large model says."""
    grammar = submission.sampling.grammar
    choices = () if grammar is None else grammar.choices
    if "bad" in choices:
        return "good" if score_of(prompt) else "bad"
    if "yes" in choices:
        return "yes" if score_of(prompt) else "no"
    return str(score_of(prompt))


@pytest.fixture
def large() -> Iterator[ScriptedEngine]:
    large = ScriptedEngine(answer_of, model="large", identity="large")
    ENGINES.put("large", large)
    yield large
    ENGINES.close("large")


@pytest.fixture
def con(large: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> relserve.Connection:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "64")
    con = relserve.connect(model="large")
    texts = [text_of(i) for i in range(NUM_ROWS)]
    con.execute("CREATE TABLE rows_ AS SELECT unnest(range(len($1))) AS i, unnest($1) AS x", [texts])
    return con


FILTER = "llm_filter('Is it good? {}', x, cascade := 'embedding', precision := 0.9, recall := 0.9)"


def test_what_is_learnt_decides_most_rows_of_a_filter_and_nothing_is_asked_twice(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    found = con.sql(f"SELECT x, {FILTER} FROM rows_ ORDER BY i").fetchall()
    kept, good = {x for x, is_kept in found if is_kept}, {x for x, _ in found if score_of(x)}
    assert len(kept & good) >= 0.9 * max(len(kept), len(good))
    num_asked = large.num_prompts
    assert num_asked < NUM_ROWS / 2
    told = con.sql("SELECT function, model, distinct_prompts, cascade FROM llm_queries()").fetchall()
    assert [each[:3] for each in told] == [
        ("llm_embed", "wordllama", NUM_ROWS), ("llm_filter", "large", num_asked)
    ]  # fmt: skip
    assert f"{num_asked} of {NUM_ROWS} prompts asked; embedding decided the others" in told[0][3]
    frame = con.sql("SELECT x FROM rows_ ORDER BY i DESC").df()
    answers = relserve.llm_filter(
        frame, "Is it good? {x}", model="large", cascade="embedding", precision=0.9, recall=0.9
    )
    assert answers.tolist()[::-1] == [is_kept for _, is_kept in found]
    assert large.num_prompts == num_asked, "all of it was kept"


def test_words_that_mean_nothing_are_learnt_too(con: relserve.Connection, large: ScriptedEngine) -> None:
    large.script = lambda prompt, _: "yes" if any(f"zq{code}" in prompt for code in (17, 22, 28)) else "no"
    call = FILTER.replace("x,", "'Part zq' || (10 + i % 20) || ' of crate ' || i,")
    found = con.sql(f"SELECT 10 + i % 20 IN (17, 22, 28), {call} FROM range({NUM_ROWS}) t(i)").fetchall()
    kept, right = sum(each[1] for each in found), sum(all(each) for each in found)
    assert right >= 0.9 * max(kept, 3 * NUM_ROWS // 20)
    assert large.num_prompts < 0.6 * NUM_ROWS


@pytest.mark.long
def test_the_vectors_are_those_of_the_values_and_shared_with_llm_embed(con: relserve.Connection) -> None:
    con.sql(f"SELECT count(*) FROM rows_ WHERE {FILTER}").fetchall()
    con.sql("SELECT llm_embed(x) FROM rows_").fetchall()
    (told,) = con.sql(
        "SELECT cached_answers FROM llm_queries() WHERE function = 'llm_embed' AND cascade IS NULL"
    ).fetchall()
    assert told == (NUM_ROWS,)


def test_where_each_row_that_was_asked_failed_none_is_decided(
    con: relserve.Connection, large: ScriptedEngine
) -> None:
    large.script = lambda prompt, submission: Failure(FailureKind.REFUSED, "too rude")
    call = "llm_filter('Is it good? {}', x, cascade := 'embedding', recall := 0.9)"
    with pytest.warns(RowsFailedWarning):
        assert con.sql(f"SELECT DISTINCT {call} FROM rows_").fetchall() == [(None,)]


def test_what_is_learnt_labels_rows(con: relserve.Connection, large: ScriptedEngine) -> None:
    call = "llm_classify('Mood? {}', x, choices := ['good', 'bad'], cascade := 'embedding', accuracy := 0.9)"
    rows = con.sql(f"SELECT x, {call} FROM rows_").fetchall()
    assert sum((label == "good") == (score_of(x) > 0) for x, label in rows) >= 0.9 * NUM_ROWS
    assert large.num_prompts < NUM_ROWS / 2


@pytest.mark.long
@pytest.mark.cells(1)
@pytest.mark.parametrize("cascade", ["embedding", "small"])
def test_most_scores_are_within_the_error_of_the_large_models(
    con: relserve.Connection, large: ScriptedEngine, cascade: str
) -> None:
    small = ScriptedEngine(lambda prompt, _: str(max(0, score_of(prompt) - len(prompt) % 2)), model="small")
    ENGINES.put("small", small)
    given = f"lo := 0, hi := 8, cascade := '{cascade}', error := 1, accuracy := 0.9"
    call = f"llm_score('How good? {{}}', x, {given})"
    rows = con.sql(f"SELECT x, {call} FROM rows_").fetchall()
    assert sum(abs(score - score_of(x)) <= 1 for x, score in rows) >= 0.9 * NUM_ROWS
    assert large.num_prompts < 0.6 * NUM_ROWS
    ((told,),) = con.sql("SELECT DISTINCT cascade FROM llm_queries()").fetchall()
    assert "accuracy within 1 at least 0.9" in told
    sure = con.sql(f"SELECT x, {call.replace('0.9)', '1)')} FROM rows_").fetchall()
    assert all(abs(score - score_of(x)) <= 1 for x, score in sure)
    ENGINES.close("small")


def test_few_rows_are_all_asked_and_null_is_null(con: relserve.Connection, large: ScriptedEngine) -> None:
    rows = con.sql(f"SELECT {FILTER} FROM (VALUES ('lovely'), ('awful'), (NULL), ('...')) t(x)").fetchall()
    assert rows == [(True,), (False,), (None,), (False,)]
    assert large.num_prompts == 3


def test_without_what_learns_it_says_how_to_install_it(
    con: relserve.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises((ModelError, duckdb.Error), match=r"pip install 'relserve\[embed\]'"):
        con.sql(f"SELECT {FILTER} FROM rows_").fetchall()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("llm_score('{}', 'x', cascade := 'embedding')", "cascade needs error"),
        ("llm_score('{}', 'x', error := 1)", "error needs cascade"),
        ("llm_filter('{}', 'x', cascade := 'embedding', error := 1)", "no option 'error'"),
        ("llm_filter('{}', 'x', cascade := 'wordllama')", "gives vectors alone"),
    ],
)
def test_what_is_no_cascade_is_an_error(con: relserve.Connection, call: str, told: str) -> None:
    with pytest.raises((OptionError, duckdb.Error), match=told):
        con.sql(f"SELECT {call}").fetchall()
