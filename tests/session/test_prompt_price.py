"""The price of asking prompts: tokens by characters, likely answers, and what a written token costs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from relserve.call.answer_types import Grammar
from relserve.call.options import Options
from relserve.call.relquery import Sampling, sampling_of
from relserve.call.turns import ChatTurn
from relserve.policies.model.linear import CostModel
from relserve.session.prompt_price import ExpectedWork, expected_output, expected_work, price, slopes_s

COST = CostModel(0.001, 0.1, 0.02, 0.2)


class Words:
    """A tokenizer of which a word is a token."""

    def encode(
        self, prompts: Sequence[str], system: str | None, thinking: int = 0, turns: Sequence[ChatTurn] = ()
    ) -> list[list[int]]:
        return [[0] * len(prompt.split()) for prompt in prompts]

    def num_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


@pytest.mark.parametrize(
    ("sampling", "by_characters", "by_tokens"),
    [
        (Sampling(20), 20, 20),
        (Sampling(20, grammar=Grammar(("a", "b c d"))), 3, 4),
        (Sampling(2, grammar=Grammar(("a", "b c d"))), 2, 2),
        (Sampling(20, grammar=Grammar(regex="[0-9]+")), 20, 20),
        (sampling_of("llm", Options()), 256, 256),
        (sampling_of("llm_filter", Options()), 2, 2),
        (Sampling(20, grammar=Grammar(("a", "b c d")), thinking=100), 103, 104),
        (sampling_of("llm", Options(thinking=100)), 356, 356),
    ],
)
def test_likely_answers(sampling: Sampling, by_characters: int, by_tokens: int) -> None:
    assert expected_output(sampling) == by_characters
    assert expected_output(sampling, Words()) == by_tokens


def test_the_work_of_prompts_goes_by_their_characters() -> None:
    assert expected_work(["x" * 40, "x" * 20], Sampling(5)) == ExpectedWork(2, 15, 5)
    assert expected_work([], Sampling(5)) == ExpectedWork(0, 0, 5)


def test_what_is_written_costs_more_than_what_is_read() -> None:
    work = ExpectedWork(2, 15, 5)
    assert price(work) == 15 + 2 * 5 * 8
    assert price(work, COST) == pytest.approx(15 + 2 * 5 * 20)
    assert slopes_s(work, COST) == pytest.approx(0.015 + 0.2)


def test_a_cost_model_without_a_price_of_reading_is_no_guide() -> None:
    assert price(ExpectedWork(1, 4, 1), CostModel(0.0, 0.1, 0.02, 0.2)) == 12
