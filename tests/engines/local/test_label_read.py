"""Probabilities read from labels: which tokens count, what a model says beside them, and tiny's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from asking import ask

from relserve.call.answer_types import ChoiceAnswer, Grammar
from relserve.call.decisions import YES_NO, FollowUp
from relserve.call.labels import labels_of
from relserve.call.relquery import Reply
from relserve.engines.local.dialogue import Dialogue
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.label_read import groups_in, weigh
from relserve.errors import OptionError
from relserve.session.per_question import PerQuestion
from relserve.session.reordered import Reordered

TOKENS = {
    b"yes": [0], b"Yes": [1], b"no": [2], b"No": [3], b" yes": [4], b" no": [5, 6], b"A": [7], b"B": [8],
}  # fmt: skip


def encode(text: str) -> list[int]:
    return TOKENS.get(text.encode(), [90, 91])


def test_a_form_counts_where_every_label_has_a_token_for_it() -> None:
    assert groups_in(("yes", "no"), TOKENS, encode) == ((0, 1, 4), (2, 3, 5, 6))
    without = {text: tokens for text, tokens in TOKENS.items() if text != b"No"}
    assert groups_in(("yes", "no"), without, encode) == ((0, 4), (2, 5, 6))
    assert groups_in(("A", "B"), TOKENS, encode) == ((7,), (8,))


def test_a_label_that_is_no_single_token_is_none() -> None:
    assert groups_in(("yes", "maybe"), TOKENS, encode) is None
    assert groups_in(("yes", "no"), TOKENS, lambda text: [90, 91]) is None  # the tokenizer would never cut so


def output_of(logprobs: dict[int, float]) -> Any:
    told = {token: SimpleNamespace(logprob=logprob) for token, logprob in logprobs.items()}
    completion = SimpleNamespace(logprobs=[told], token_ids=[0])
    return SimpleNamespace(outputs=[completion], prompt_token_ids=[1, 2], num_cached_tokens=0, metrics=None)


def other() -> Dialogue:
    yield from ()
    return Reply(0, "sales", probabilities=(0.9, 0.1))


def reply_of(
    number: int, groups: Sequence[tuple[int, ...]], logprobs: dict[int, float], label_mass: bool = False
) -> Reply:
    """What comes of a row with these labels, by number, where nothing more is asked."""
    labels = labels_of(("sales", "support"))[number]
    dialogue = weigh(0, [1, 2], None, labels, tuple(groups), other(), label_mass)
    assert len(next(dialogue)) == 1
    with pytest.raises(StopIteration) as ended:
        dialogue.send([output_of(logprobs)])
    reply: Reply = ended.value.value
    return reply


def test_probabilities_are_in_proportion_to_all_labels() -> None:
    logprobs = {7: math.log(0.4), 8: math.log(0.08), 9: math.log(0.48)}
    reply = reply_of(1, [(7, 8), (9,)], logprobs)
    assert reply.probabilities == pytest.approx((0.5, 0.5))
    tiny = {token: logprob - 2000 for token, logprob in logprobs.items()}  # no float holds these
    assert reply_of(0, [(7,), (9,)], tiny).probabilities == pytest.approx((5 / 11, 6 / 11))
    assert reply_of(0, [(7,), (9,)], tiny).text == "support"


def test_the_mass_of_all_labels_is_told_on_request() -> None:
    logprobs = {7: math.log(0.4), 8: math.log(0.08), 9: math.log(0.02)}
    assert reply_of(0, [(7, 8), (9,)], logprobs, True).label_masses == pytest.approx((0.5,))
    assert reply_of(0, [(7, 8), (9,)], logprobs).label_masses is None
    assert reply_of(0, [(7,), (9,)], {7: 1e-7, 9: -50.0}, True).label_masses == (1.0,)


def test_a_model_that_does_not_answer_with_letters_is_asked_for_the_words() -> None:
    reply = reply_of(1, [(7,), (8,)], {7: math.log(0.2), 8: math.log(0.1)})
    assert reply.probabilities == (0.9, 0.1)
    assert (reply.usage.prompt_tokens, reply.usage.output_tokens) == (2, 1)  # of what was asked in vain


@pytest.mark.parametrize("first", [math.nan, -1.0])
@pytest.mark.parametrize("number", [0, 1])
def test_what_is_no_number_is_a_failure_and_no_answer(number: int, first: float) -> None:
    reply = reply_of(number, [(7,), (8,)], {7: first, 8: math.nan})
    assert (reply.text, reply.probabilities) == (None, None)
    assert reply.failure is not None
    assert "are no numbers (NaN)" in reply.failure.message


def test_numbers_that_are_no_probabilities_are_refused() -> None:
    engine = LocalEngine("tiny", "./nowhere", engine_args={"logprobs_mode": "raw_logits"})
    with pytest.raises(OptionError, match="whose numbers are not the model's probabilities"):
        ask(engine, ["a"], grammar=Grammar(choices=("yes", "no")), read="label")


def prompts_of(choices: tuple[str, ...]) -> list[str]:
    lead = ChoiceAnswer(choices).instruction
    return [f"{lead}\nIs dish {i} good? It was {how}." for i, how in enumerate(("fine", "bad", "so so"))]


def both_reads(engine: LocalEngine, prompts: list[str], grammar: Grammar) -> list[list[Reply]]:
    """The replies by 'exact' and by 'label'."""
    return [ask(engine, prompts, grammar=grammar, max_tokens=1, read=read) for read in ("exact", "label")]


@pytest.mark.cells(1)
@pytest.mark.vllm
@pytest.mark.parametrize("choices", [("yes", "no"), ("positive", "negative")])
def test_one_request_of_one_token_tells_what_brute_force_tells(
    local_engine: LocalEngine, model_path: Any, choices: tuple[str, ...]
) -> None:
    from benchmarks.spelled_out import BruteForce
    from relserve.engines.local.prompts import load_encoder

    prompts, grammar = prompts_of(choices), Grammar(choices=choices)
    brute, encoder = BruteForce(model_path, choices), load_encoder(str(model_path))
    assert encoder is not None
    true = [brute.probabilities(ids)[0] for ids in encoder.encode(prompts, None)]
    exact, label = both_reads(local_engine, prompts, grammar)
    for row, by_all, by_one in zip(true, exact, label, strict=True):
        assert by_all.probabilities == pytest.approx(row, abs=1e-3)
        assert by_one.probabilities == pytest.approx(row, abs=0.02)
        assert by_one.probabilities is not None
        assert sum(by_one.probabilities) == pytest.approx(1)
        assert by_one.usage.output_tokens == 1
        assert by_one.text == choices[row.index(max(row))]


@pytest.mark.long
@pytest.mark.cells(1)
@pytest.mark.vllm
@pytest.mark.parametrize("read", ["exact", "label"])
def test_the_mass_is_that_of_brute_force_and_tells_where_a_model_would_say_something_else(
    local_engine: LocalEngine, model_path: Any, read: str
) -> None:
    from benchmarks.spelled_out import BruteForce
    from relserve.engines.local.prompts import load_encoder

    prompts = [*prompts_of(YES_NO), "Write a sentence about the sea."]
    brute, encoder = BruteForce(model_path, YES_NO), load_encoder(str(model_path))
    assert encoder is not None
    true = [brute.mass(ids) for ids in encoder.encode(prompts, None)]
    how = {"grammar": Grammar(choices=YES_NO), "max_tokens": 1, "read": read}
    plain, told = (ask(local_engine, prompts, label_mass=mass, **how) for mass in (False, True))
    for mass, without, reply in zip(true, plain, told, strict=True):
        assert without.label_masses is None
        assert reply.label_masses == pytest.approx((mass,), abs=1e-3)
        assert reply.probabilities == pytest.approx(without.probabilities, abs=1e-4)
    assert true[0] > 0.9 > 0.1 > true[-1]


@pytest.mark.vllm
def test_where_tiny_has_no_single_tokens_it_is_asked_exactly(local_engine: LocalEngine) -> None:
    choices = ("sales", "the support of all")  # it was never taught to answer with letters
    prompts, grammar = prompts_of(choices), Grammar(choices=choices)
    exact, label = both_reads(local_engine, prompts, grammar)
    for by_all, by_label in zip(exact, label, strict=True):
        assert by_label.probabilities == pytest.approx(by_all.probabilities, abs=0.02)
        assert 2 < by_label.usage.output_tokens <= by_all.usage.output_tokens  # less is looked at


@pytest.mark.vllm
def test_each_tag_of_a_row_is_one_request_of_one_token(local_engine: LocalEngine) -> None:
    text = " ".join(f"The {i}th dish was cold." for i in range(60))
    tags = tuple(FollowUp(f'Does "{tag}" apply?', YES_NO) for tag in ("price", "food", "staff", "room"))
    (reply,) = ask(
        PerQuestion(local_engine), [f"{text} What is it about?"], max_tokens=1, read="label", follow_ups=tags
    )
    assert reply.probabilities is not None
    assert len(reply.probabilities) == 8
    assert all(0 < p < 1 for p in reply.probabilities)
    assert reply.usage.output_tokens == 4


@pytest.mark.vllm
def test_questions_of_several_kinds_compute_their_state_once(local_engine: LocalEngine) -> None:
    def computed(state: str, asked: Sequence[FollowUp]) -> int:
        """The tokens of prompts that were not in the prefix cache."""
        engine = PerQuestion(local_engine)
        (reply,) = ask(engine, [state], max_tokens=1, read="label", follow_ups=tuple(asked))
        assert reply.probabilities is not None
        assert len(reply.probabilities) == sum(len(each.choices) for each in asked)
        return reply.usage.prompt_tokens - reply.usage.cached_tokens

    asked = [
        FollowUp("Is it a complaint? Answer with yes or no.", YES_NO),
        FollowUp("Is it urgent? Answer with yes or no.", YES_NO),
        FollowUp("How is it? Answer with positive or negative.", ("positive", "negative")),
        FollowUp("What is the mood? Answer with negative or positive.", ("negative", "positive")),
    ]
    states = [" ".join(f"{what} {i} was cold." for i in range(100)) for what in ("Soup", "Lamp")]
    one = computed(states[0], asked[:1])
    assert one >= 600
    four = computed(states[1], asked)
    assert four < 1.3 * one


@pytest.mark.vllm
def test_in_both_orders_it_does_not_matter_which_choice_is_named_first(local_engine: LocalEngine) -> None:
    found = []
    for choices in (("positive", "negative"), ("negative", "positive")):
        how = {"grammar": Grammar(choices=choices), "max_tokens": 1, "read": "label", "debias": 2}
        replies = ask(Reordered(local_engine), prompts_of(choices), **how)
        assert [reply.usage.output_tokens for reply in replies] == [2, 2, 2]
        found.append([dict(zip(choices, reply.probabilities or (), strict=True)) for reply in replies])
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other, abs=1e-3)
