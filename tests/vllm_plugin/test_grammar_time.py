"""Requests whose grammar takes too long a token end, and no others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from relserve.vllm_plugin.grammar_time import FREE_S, TOKEN_S, GrammarTime, Masking, bound_time, timed
from tests.clocks import read_here


class Slow:
    """A grammar whose calls take so many seconds of the thread's time, as `clock` has it."""

    def __init__(self, clock: list[float], accepting_s: float, filling_s: float) -> None:
        self._clock, self._accepting_s, self._filling_s = clock, accepting_s, filling_s
        self.num_filled = 0

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        self._clock[0] += self._accepting_s * len(tokens)
        return 13 not in tokens

    def fill_bitmask(self, bitmask: Any, index: int) -> None:
        self._clock[0] += self._filling_s
        self.num_filled += 1


class Row(list):
    """A row of a mask."""

    def fill_(self, value: int) -> None:
        self[:] = [value] * len(self)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    read_here(monkeypatch, lambda: now[0], "thread_time")
    return now


def test_an_ordinary_grammar_never_ends_a_request(clock: list[float]) -> None:
    grammar = timed(Slow(clock, TOKEN_S / 4, TOKEN_S / 2), GrammarTime(TOKEN_S), Masking())
    for _ in range(5_000):
        grammar.fill_bitmask([Row([0])], 0)
        assert grammar.accept_tokens("a", [1])
    assert not grammar.accept_tokens("a", [13])


@pytest.mark.parametrize(("accepting_s", "filling_s"), [(0.1, 0.0), (0.0, 0.1)])
def test_the_requests_of_a_slow_grammar_end_together(
    clock: list[float], accepting_s: float, filling_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    spent = GrammarTime(TOKEN_S)
    first, second = (timed(Slow(clock, accepting_s, filling_s), spent, Masking()) for _ in range(2))
    most = round(FREE_S / 0.1) + 2
    num_accepted = 0
    first.fill_bitmask([Row([0])], 0)
    while num_accepted < most and first.accept_tokens("a.0", [1]):
        first.fill_bitmask([Row([0])], 0)
        num_accepted += 1
    assert 4 <= num_accepted < most
    mask, time_s = [Row([0]), Row([0, 0])], clock[0]
    second.fill_bitmask(mask, 1)
    assert mask == [[0], [-1, -1]]
    assert not second.accept_tokens("a.1", [1])
    assert clock[0] == time_s
    assert second.num_filled == 0
    assert "Grammar takes too long for request a.1: " in caplog.text


def test_quick_tokens_are_no_credit_for_slow_ones(clock: list[float]) -> None:
    spent = GrammarTime(TOKEN_S)
    spent.spend(0.0, 100_000)
    spent.spend(0.9 * FREE_S)
    assert not spent.is_over
    spent.spend(0.2 * FREE_S)
    assert spent.is_over


def test_masks_of_a_thousand_rows_before_their_tokens_end_none(clock: list[float]) -> None:
    spent = GrammarTime(TOKEN_S)
    rows = [timed(Slow(clock, 0.0, TOKEN_S / 2), spent, Masking()) for _ in range(1000)]
    for row in rows:
        row.fill_bitmask([Row([0])], 0)
    assert all(row.accept_tokens("a", [1]) for row in rows)


def managing(vocabulary: int = 8192, **parts: Any) -> Any:
    """vLLM's manager of grammars, as far as it is touched."""
    config = SimpleNamespace(model_config=SimpleNamespace(get_vocab_size=lambda: vocabulary))
    return SimpleNamespace(vllm_config=config, **parts)


@pytest.mark.parametrize(("vocabulary", "num_accepted"), [(8192, 25), (151_936, 200)])
def test_a_mask_of_a_large_vocabulary_may_take_longer(
    vocabulary: int, num_accepted: int, clock: list[float]
) -> None:
    """Here 23 ms, as `([a-z]{1,20} ){0,100}` takes over 151,936 tokens."""
    manager = managing(vocabulary, _create_grammar=lambda request: Slow(clock, 0.023, 0.0))
    bound_time(manager)
    key = SimpleNamespace(structured_output_key=("regex", "([a-z]{1,20} ){0,100}"))
    grammar = manager._create_grammar(SimpleNamespace(structured_output_request=key))
    accepted = [grammar.accept_tokens("a", [1]) for _ in range(200)]
    assert abs(sum(accepted) - num_accepted) <= 5


def test_time_is_remembered_by_grammar_when_its_requests_have_ended(clock: list[float]) -> None:
    manager = managing(_create_grammar=lambda request: Slow(clock, 1.0, 0.0))
    bound_time(manager)

    def made(grammar: str) -> Any:
        key = SimpleNamespace(structured_output_key=("regex", grammar))
        return manager._create_grammar(SimpleNamespace(structured_output_request=key))

    assert made("(a+)+").accept_tokens("a", [1])
    assert not made("(a+)+").accept_tokens("b", [1])
    assert made("a+").accept_tokens("c", [1])
    bare = SimpleNamespace()
    bound_time(bare)
    assert vars(bare) == {}


def test_a_draft_is_not_refused_while_masks_are_computed(clock: list[float]) -> None:
    """vLLM 0.26 to 0.29 takes it for an error of its own, and the engine dies."""
    grammar: Any = Slow(clock, 0.0, 2 * FREE_S)
    accepted = []

    def grammar_bitmask(tokens: list[int]) -> None:
        for token in tokens:
            grammar.fill_bitmask([Row([0])], 0)
            accepted.append(grammar.accept_tokens("a", [token]))

    manager = managing(_create_grammar=lambda request: grammar, grammar_bitmask=grammar_bitmask)
    bound_time(manager)
    key = SimpleNamespace(structured_output_key=("regex", "(a+)+"))
    manager._create_grammar(SimpleNamespace(structured_output_request=key))
    manager.grammar_bitmask([1, 2])
    assert accepted == [True, True]
    manager.grammar_bitmask([1, 13])
    assert accepted[2:] == [True, False]
    assert not grammar.accept_tokens("a", [1])
