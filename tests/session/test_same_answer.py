"""One label for all prompts of a call is told of: once, and only where it may be the model's habit."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable

import pandas as pd
import pytest

import relserve
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import SameAnswerWarning
from relserve.server.client.notices import WireClient
from relserve.session.history import History, QueryRecord
from relserve.session.notices import same_answers
from relserve.session.same_answer import FEWEST, SameAnswer

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
        assert all(each.filename == __file__ for each in caught)
        return [str(each.message) for each in caught if each.category is SameAnswerWarning]

    return run


@pytest.mark.parametrize(
    ("call", "reply", "said"),
    [
        ("llm_classify('a {}', i, choices := ['good', 'bad'])", "good", "llm_classify() gave 'good' to all"),
        ("llm('b {}', i, choices := ['good', 'bad'])", "bad", "llm() gave 'bad' to all 30 prompts"),
        ("llm_filter('c {}', i)", "no", "llm_filter() gave false to all 30 prompts"),
        ("llm_score('d {}', i)", "7", "llm_score() gave 7 to all 30 prompts"),
    ],
)
def test_one_label_for_thirty_prompts_is_told_once(ask: Ask, call: str, reply: str, said: str) -> None:
    (line,) = ask(call, FEWEST, reply)
    assert line.startswith(said)
    assert "examples := [..]" in line
    assert ("choices in another order" in line) == ("choices" in call)
    assert ask(call, 2 * FEWEST, reply) == []


@pytest.mark.parametrize(
    ("call", "num_rows"),
    [
        ("llm_filter('fewer {}', i)", FEWEST - 1),
        ("llm_filter('equal {}', i % 3)", 100),  # three prompts
        ("llm('text {}', i)", 100),
        ("llm_int('number {}', i)", 100),
    ],
)
def test_nothing_is_told_of_few_prompts_and_of_other_types(ask: Ask, call: str, num_rows: int) -> None:
    assert ask(call, num_rows, "1" if "llm_int" in call else "yes") == []


def test_answers_that_differ_and_made_up_ones_are_not_told() -> None:
    for engine in (
        ScriptedEngine(lambda prompt, submission: "no" if prompt.endswith("x 77") else "yes", model="small"),
        ScriptedEngine(lambda prompt, submission: "yes"),
    ):
        con = relserve.connect(engine=engine, progress=False)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            con.execute("SELECT llm_filter('x {}', i) FROM range(100) t(i)").fetchall()


def test_frames_warn_at_the_users_line() -> None:
    engine = ScriptedEngine(lambda prompt, submission: "yes", model="small")
    with pytest.warns(SameAnswerWarning, match=r"gave true to all 40 prompts") as told:
        relserve.llm_filter(pd.DataFrame({"n": range(40)}), "frames {n}", engine=engine)
    assert [each.filename for each in told if each.category is SameAnswerWarning] == [__file__]


def test_a_server_says_it_in_a_notice() -> None:
    history = History()
    record = QueryRecord("r", "llm_filter", "t {}", "m", 50, statement=1, same_answer=SameAnswer(50, True))
    history.begin(record)
    said: list[tuple[str, str]] = []
    client = WireClient(lambda severity, text: said.append((severity, text)))
    assert not client.warn_of_failures(history, 1)
    ((severity, text),) = said
    assert severity == "NOTICE"
    assert text.startswith("llm_filter() gave true to all 50 prompts")


def test_several_threads_hear_it_once() -> None:
    history, told = History(), list[str]()
    history.begin(QueryRecord("r", "llm", "t {}", "m", 50, statement=1, same_answer=SameAnswer(50, "a")))
    threads = [threading.Thread(target=lambda: told.extend(same_answers(history, 1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 1
