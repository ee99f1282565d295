"""Rows that an engine gives up are asked once more, then NULL with the reason; none hangs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import TIMEOUT_S, ask, collect, submission_of

from relserve.call.answer_types import Grammar
from relserve.call.relquery import Reply
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.flight import MAX_WHY
from relserve.engines.local.log import NO_TOKEN, TAIL_BYTES, TOO_SLOW, grammar_error, why_refused
from relserve.engines.local.unanswered import Unanswered
from relserve.engines.loop import spawn
from relserve.errors import Failure, FailureKind
from relserve.vllm_plugin.grammar_time import TOO_SLOW as SLOW
from tests.waiting import frozen, wait_until

GIVEN_UP = Failure(FailureKind.ENGINE, "the engine gave the request up (error)")
REFUSED = Failure(FailureKind.REFUSED, "the prompt is empty")
TIMED_OUT = """\
(EngineCore pid=7) ERROR 11-22 06:00:01 [__init__.py:194] Failed to compile grammar for request rel-1-2.3.0-8f
(EngineCore pid=7) ERROR 11-22 06:00:01 [__init__.py:194] Traceback (most recent call last):
(EngineCore pid=7) ERROR 11-22 06:00:01 [__init__.py:194] ValueError: Regex compilation timed out after 5s.
"""


def test_a_row_that_is_given_up_is_left_to_be_asked_once_more() -> None:
    unanswered = Unanswered(3)
    first = [Reply(0, "yes"), Reply(1, None, GIVEN_UP), Reply(2, None, REFUSED)]
    assert unanswered.take(first) == [first[0], first[2]]
    assert list(unanswered.indices) == [1]
    failed = Failure(FailureKind.ENGINE, "the engine gave the request up (error), twice")
    assert unanswered.take([Reply(1, None, GIVEN_UP)]) == [Reply(1, None, failed)]
    assert not unanswered.indices


def test_the_log_tells_why_a_grammar_was_not_compiled(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    assert grammar_error(log, 0, "rel-1-2.3") == grammar_error(None, 0, "rel-1-2.3") == ""
    log.write_text("x" * 2 * TAIL_BYTES + "\n" + TIMED_OUT)
    assert grammar_error(log, 0, "rel-1-2.3") == "ValueError: Regex compilation timed out after 5s."
    assert grammar_error(log, 0, "rel-1-2.4") == ""
    log.write_text(TIMED_OUT.replace("2.3.0", "2.34.0"))
    assert grammar_error(log, 0, "rel-1-2.3") == ""
    assert grammar_error(log, log.stat().st_size, "rel-1-2.34") == ""


def test_the_log_tells_of_a_grammar_that_the_vocabulary_cannot_spell(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text(
        "(EngineCore pid=7) ERROR 11-22 06:00:01 [scheduler.py:2189] Unexpected: grammar rejected tokens [0] "
        "for request rel-1-2.3.0. Terminating request.\n"
    )
    assert grammar_error(log, 0, "rel-1-2.3") == NO_TOKEN
    assert grammar_error(log, 0, "rel-1-2.33") == grammar_error(log, 0, "el-1-2.3") == ""


def test_the_log_tells_of_a_grammar_that_takes_too_long(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text(
        "(EngineCore pid=7) ERROR 11-22 06:00:01 [grammar_time.py:60] " + SLOW % ("rel-1-2.3.0", 5) + "\n"
    )
    assert grammar_error(log, 0, "rel-1-2.3") == TOO_SLOW
    assert len(TOO_SLOW) <= MAX_WHY
    assert grammar_error(log, 0, "rel-1-2.33") == grammar_error(log, 0, "el-1-2.3") == ""


@pytest.fixture(scope="module")
def hasty_engine(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    """An engine that gives rows up whose grammar is not compiled within a second."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    engine = LocalEngine("tiny", str(model_path), log_path=tmp_path_factory.mktemp("hasty") / "engine.log")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_REGEX_COMPILATION_TIMEOUT_S", "1")
        ask(engine, ["Hello"])
    yield engine
    spawn(engine.close()).result(timeout=60)


@pytest.mark.engine_of_its_own
@pytest.mark.vllm
def test_a_grammar_that_takes_too_long_fails_its_rows_with_the_reason(hasty_engine: LocalEngine) -> None:
    rng, pid = random.Random(0), hasty_engine.pid
    words = ("".join(rng.choices("abcdefgh", k=300)) for _ in range(4000))
    dear = Grammar(regex="|".join(words))  # four minutes of CPU, on up to eight cores
    for reply in ask(hasty_engine, ["One", "Two"], grammar=dear):
        assert reply.failure is not None
        assert reply.failure.kind is FailureKind.ENGINE
        assert "Regex compilation timed out after 1s" in reply.failure.message
        assert reply.failure.message.endswith(", twice")
    assert [reply.failure for reply in ask(hasty_engine, ["One"], grammar=Grammar(choices=("a", "b")))] == [
        None
    ]
    assert hasty_engine.pid == pid


@pytest.mark.engine_of_its_own
@pytest.mark.vllm
def test_an_error_of_one_request_costs_neither_the_engine_nor_the_row(hasty_engine: LocalEngine) -> None:
    pid = hasty_engine.pid
    assert pid is not None
    long = dict(max_tokens=300, grammar=Grammar(regex="[a-z]{300}"))

    async def fail() -> None:
        (flight,) = hasty_engine._flights
        request_id = next(id for id, each in flight.pending.items() if each.index == 1)
        flight._notice(request_id, ValueError("as vLLM 0.33 says it"))

    with frozen(pid):
        asked = spawn(collect(hasty_engine, submission_of(["Say a lot"] * 3, **long)))
        wait_until(lambda: hasty_engine.num_unfinished == 3)
        spawn(fail()).result(timeout=TIMEOUT_S)
    replies = asked.result(timeout=TIMEOUT_S)
    assert sorted(reply.index for reply in replies) == [0, 1, 2]
    assert [reply.failure for reply in replies] == [None] * 3
    assert hasty_engine.pid == pid


def test_a_refusal_says_what_is_wrong_with_the_grammar_once() -> None:
    error = ValueError("Invalid grammar specification.")
    error.__cause__ = RuntimeError(
        '[19:30:00] /src/parser.cc:820: line 1,\n column 10: Rule "x" is not defined'
    )
    said = 'ValueError: Invalid grammar specification.: line 1, column 10: Rule "x" is not defined'
    assert why_refused(error) == said
    error = ValueError("Bad: [19:30:00] /a/c.cc:83: not closed.")
    assert why_refused(error) == "ValueError: Bad: not closed."
    error.__cause__ = RuntimeError("[19:30:00] /a/c.cc:83: not closed.")
    assert why_refused(error) == "ValueError: Bad: not closed."
