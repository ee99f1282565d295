"""One answer for nearly all prompts, and texts that loop, are told of: once, and not of made-up answers."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Callable

import pandas as pd
import pytest

import relserve
from relserve.call.answer_types import Answer
from relserve.call.relquery import Reply, Submission
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import HabitWarning
from relserve.server.client.notices import WireClient
from relserve.session.habits import FEWEST, MOST_ANSWERS, SameAnswer, loops
from relserve.session.history import History, QueryRecord
from relserve.session.notices import habits

Ask = Callable[[str, int, str], list[str]]


@pytest.fixture
def ask() -> Ask:
    """The lines that a call over so many rows is told, which all get the same reply."""
    engine = ScriptedEngine(lambda prompt, submission: replies[0], model="small")
    con = relserve.connect(engine=engine, progress=False)
    replies = [""]

    def run(call: str, num_rows: int, reply: str) -> list[str]:
        replies[0] = reply
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            con.execute(f"SELECT {call} FROM range({num_rows}) t(i)").fetchall()
        told = [each for each in caught if each.category is HabitWarning]  # not what other tests left
        assert all(each.filename == __file__ for each in told)
        return [str(each.message) for each in told]

    return run


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    ("call", "reply", "said"),
    [
        ("llm_classify('a {}', i, choices := ['good', 'bad'])", "good", "llm_classify() gave 'good' to all"),
        ("llm('b {}', i, choices := ['good', 'bad'])", "bad", "llm() gave 'bad' to all 30 prompts"),
        ("llm_filter('c {}', i)", "no", "llm_filter() gave false to all 30 prompts"),
        ("llm_score('d {}', i)", "7", "llm_score() gave 7 to all 30 prompts"),
        ("llm('e {}', i)", "a " * 50, "llm() gave 'a a a "),
        ("llm_int('f {}', i)", "null", "llm_int() gave NULL to all 30 prompts"),
        (
            "llm_extract('g {}', i, schema := '{\"n\": \"BIGINT\"}')",
            '{"n":1}',
            'llm_extract() gave {"n": 1} to',
        ),
    ],
)
def test_one_label_for_thirty_prompts_is_told_once(ask: Ask, call: str, reply: str, said: str) -> None:
    (line,) = ask(call, FEWEST, reply)
    assert line.startswith(said)
    assert "examples := [..]" in line
    assert "relserve evaluate" in line
    assert ("choices in another order" in line) == ("choices" in call)
    assert ask(call, 2 * FEWEST, reply) == []


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("call", "num_rows"),
    [
        ("llm_filter('fewer {}', i)", FEWEST - 1),
        ("llm_filter('equal {}', i % 3)", 100),  # three prompts
    ],
)
def test_nothing_is_told_of_few_prompts(ask: Ask, call: str, num_rows: int) -> None:
    assert ask(call, num_rows, "yes") == []


@pytest.mark.cells(1)
@pytest.mark.parametrize(("num_others", "said"), [(3, "gave true to 397 of 400 prompts"), (9, "")])
def test_one_answer_for_nearly_all_prompts_is_told(num_others: int, said: str) -> None:
    others = {f"x {i}" for i in range(num_others)}
    engine = ScriptedEngine(
        lambda prompt, submission: "no" if prompt.partition("\n")[2] in others else "yes", model="small"
    )
    con = relserve.connect(engine=engine, progress=False)
    con.execute("SELECT llm_filter('x {}', i) FROM range(400) t(i)").fetchall()
    (record,) = con.session.history.queries()
    assert record.habit is not None
    assert said in record.habit.text("llm_filter")
    assert bool(record.habit.text("llm_filter")) == bool(said)


def test_answers_of_many_kinds_are_not_kept() -> None:
    habit = SameAnswer()
    habit.add([], [Answer(str(number)) for number in range(MOST_ANSWERS + 1)])
    assert (habit.counts, habit.text("llm")) == (None, "")


def test_answers_that_differ_and_made_up_ones_are_not_told() -> None:
    for engine in (
        ScriptedEngine(lambda prompt, submission: "no" if prompt.endswith("7") else "yes", model="small"),
        ScriptedEngine(lambda prompt, submission: "yes"),
    ):
        con = relserve.connect(engine=engine, progress=False)
        with warnings.catch_warnings():
            warnings.simplefilter("error", HabitWarning)
            con.execute("SELECT llm_filter('x {}', i) FROM range(100) t(i)").fetchall()


@pytest.mark.parametrize(
    ("text", "is_loop"),
    [
        ("It is " + "very " * 14 + "ver", True),
        ("One. " + "The beer is good and the beer is cold. " * 4 + "The b", True),
        ("the beer is good and cold, and nobody knows why they closed it in the end, " + "so sad", False),
        ("no no no no no", False),  # too short to tell
        ("", False),
    ],
)
def test_a_text_that_loops_is_known_by_its_end(text: str, is_loop: bool) -> None:
    assert loops(text) == is_loop


def test_texts_that_loop_until_max_tokens_ends_them_are_told() -> None:
    said = "very " * 30

    async def cut(submission: Submission) -> AsyncIterator[list[Reply]]:
        for index, prompt in enumerate(submission.prompts):
            yield [Reply(index, said, cut=prompt.endswith(("1", "2")))]

    engine = ScriptedEngine(model="small")
    engine.answer = cut  # type: ignore[method-assign, assignment]
    con = relserve.connect(engine=engine, progress=False)
    with pytest.warns(HabitWarning, match=r"^2 of 10 answers of llm\(\) repeat themselves until max_tokens"):
        rows = con.execute("SELECT llm('tell {}', i) FROM range(10) t(i)").fetchall()
    assert rows == [(said.strip(),)] * 10


def test_frames_warn_at_the_users_line() -> None:
    engine = ScriptedEngine(lambda prompt, submission: "yes", model="small")
    with pytest.warns(HabitWarning, match=r"gave true to all 40 prompts") as told:
        relserve.llm_filter(pd.DataFrame({"n": range(40)}), "frames {n}", engine=engine)
    assert [each.filename for each in told if each.category is HabitWarning] == [__file__]


def test_a_server_says_it_in_a_notice() -> None:
    history = History()
    record = QueryRecord(
        "r", "llm_filter", "t {}", "m", 50, statement=1, habit=SameAnswer(counts=Counter({True: 50}))
    )
    history.begin(record)
    said: list[tuple[str, str]] = []
    client = WireClient(lambda severity, text: said.append((severity, text)))
    assert not client.warn_of_failures(history, 1)
    ((severity, text),) = said
    assert severity == "NOTICE"
    assert text.startswith("llm_filter() gave true to all 50 prompts")


def test_several_threads_hear_it_once() -> None:
    history, told = History(), list[str]()
    history.begin(
        QueryRecord("r", "llm", "t {}", "m", 50, statement=1, habit=SameAnswer(counts=Counter(a=50)))
    )
    threads = [threading.Thread(target=lambda: told.extend(habits(history, 1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 1


def test_for_choices_that_are_weighed_it_says_what_takes_the_place_and_the_name_out(ask: Ask) -> None:
    (line,) = ask("llm_tags('h {}', i, choices := ['a'], threshold := 1)", FEWEST, "yes")
    assert "gave [] to all 30 prompts" in line
    assert line.endswith("Try debias := 2, prior := 'empty', another model")  # it takes no examples


def test_nothing_is_advised_that_the_call_has(ask: Ask) -> None:
    (line,) = ask("llm_tags('j {}', i, choices := ['a'], threshold := 1, debias := 2)", FEWEST, "yes")
    assert line.endswith("Try prior := 'empty', another model")


def test_a_quote_is_told_as_sql_has_it(ask: Ask) -> None:
    (line,) = ask("llm_quote('k {}', i)", FEWEST, "null")
    assert "llm_quote() gave NULL to all 30 prompts" in line
