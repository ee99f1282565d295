"""The probability of a choice against the sum over all its spellings, in made-up models."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from asking import ask

from relserve.call.answer_types import Grammar
from relserve.engines.local.choice_search import DOUBT, DOUBT_BELOW, MOST_LOOKS, ChoiceSearch
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.spellings import Spellings, vocabulary_of
from relserve.errors import OptionError

LETTERS = "abn "
TWO_WAY = ("ban", "nab")
WITH_LONGER = ("a", "an", "ban", "banana", "banana an")


class MadeUpModel:
    """Gives each token after each path a probability of its own; `sharpness` 0 is almost even."""

    def __init__(self, seed: int, sharpness: float) -> None:
        rng = random.Random(seed)
        words = {"".join(rng.choices(LETTERS, k=rng.randint(2, 4))).encode() for _ in range(60)}
        self.texts = [letter.encode() for letter in LETTERS] + sorted(words)
        self.texts.append(self.texts[0])  # two tokens of one text
        self._seed, self._sharpness = seed, sharpness

    @property
    def tokens_of(self) -> dict[bytes, list[int]]:
        tokens: dict[bytes, list[int]] = {}
        for token, text in enumerate(self.texts):
            tokens.setdefault(text, []).append(token)
        return tokens

    def encode(self, text: str) -> tuple[int, ...]:
        """The fewest tokens."""
        return min(self.spellings(text.encode()), key=len)

    def logprobs(self, path: Sequence[int]) -> dict[int, float]:
        rng = random.Random(repr((self._seed, tuple(path))))
        weights = [math.exp(self._sharpness * rng.gauss(0, 1)) for _ in self.texts]
        return {token: math.log(weight / sum(weights)) for token, weight in enumerate(weights)}

    def spellings(self, text: bytes, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
        if not text:
            yield path
        for token, begin in enumerate(self.texts):
            if text.startswith(begin):
                yield from self.spellings(text[len(begin) :], (*path, token))

    def probability(self, path: Sequence[int]) -> float:
        return math.exp(sum(self.logprobs(path[:i])[token] for i, token in enumerate(path)))


def plainly(choices: Sequence[str]) -> dict[str, str]:
    """The choices, each written as it is."""
    return {choice: choice for choice in choices}


def no_encoder(text: str) -> tuple[int, ...]:
    """Of a tokenizer that cuts texts in no way that spells them."""
    return ()


def by_brute_force(model: MadeUpModel, choices: Sequence[str]) -> list[float]:
    """Every spelling of every choice, less those that go on to a longer choice."""
    masses = dict.fromkeys(choices, 0.0)
    for choice in choices:
        for text in (choice, f" {choice}"):
            for path in model.spellings(text.encode()):
                mass = model.probability(path)
                masses[choice] += mass
                begun = [b"".join(model.texts[t] for t in path[:i]).decode() for i in range(1, len(path))]
                shorter = [part.removeprefix(" ") for part in begun if part.removeprefix(" ") in choices]
                if shorter:
                    masses[shorter[-1]] -= mass
    return [mass / sum(masses.values()) for mass in masses.values()]


def searched(model: MadeUpModel, choices: Sequence[str], doubt: float = DOUBT) -> tuple[list[float], int]:
    spellings = Spellings(plainly(choices), True, model.tokens_of, model.encode)
    search, num_looks = ChoiceSearch(spellings, doubt=doubt), 0
    while wave := search.wave():
        for position in wave:
            told = model.logprobs(position.path)
            wanted = [step.token for step in spellings.steps(position.spelled)]
            search.learn(position, {token: told[token] for token in wanted})
            num_looks += 1
    found = search.probabilities()
    assert found is not None
    return found, num_looks


@pytest.mark.cells(2)
@pytest.mark.parametrize("choices", [TWO_WAY, WITH_LONGER])
@pytest.mark.parametrize("sharpness", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_sum_over_all_spellings(choices: Sequence[str], sharpness: float, seed: int) -> None:
    model = MadeUpModel(seed, sharpness)
    found, _ = searched(model, choices)
    assert found == pytest.approx(by_brute_force(model, choices), abs=2 * DOUBT)
    assert sum(found) == pytest.approx(1)


@pytest.mark.parametrize("sharpness", [0.0, 1.0])
def test_what_may_be_left_unseen_spares_looks(sharpness: float) -> None:
    model = MadeUpModel(0, sharpness)
    (exact, most), (near, fewer) = (searched(model, WITH_LONGER, doubt) for doubt in (DOUBT, DOUBT_BELOW))
    assert fewer < most
    assert near == pytest.approx(exact, abs=DOUBT_BELOW)


def test_a_sure_model_is_asked_about_few_positions() -> None:
    sure, even = (searched(MadeUpModel(0, sharpness), WITH_LONGER)[1] for sharpness in (6.0, 0.0))
    assert sure < even / 3


LONG = tuple(
    f"the guest complains about the {word} and wants money back" for word in ("soup", "room", "bill")
)


def test_long_choices_are_found_among_all_their_spellings() -> None:
    """A model that writes words, and likes a letter now and then: most of it leads to no choice."""
    words = sorted({piece for choice in LONG for piece in choice.replace(" ", "  ").split(" ")} - {""})
    texts = [*(chr(letter).encode() for letter in range(97, 123)), b" ", *(w.encode() for w in words)]
    texts += [b" " + word.encode() for word in words]
    ids = {text: [token] for token, text in enumerate(texts)}

    def encode(text: str) -> list[int]:
        first, *others = text.split(" ")
        pieces = ([first.encode()] if first else []) + [b" " + other.encode() for other in others]
        return [ids[piece][0] for piece in pieces]

    likely = {token for choice in LONG for token in encode(choice)}
    spellings = Spellings(plainly(LONG), True, ids, encode)
    search, num_looks = ChoiceSearch(spellings), 0
    while wave := search.wave():
        for position in wave:
            num_looks += 1
            told = {token: math.log(0.05 if token in likely else 0.02) for token in range(len(texts))}
            told[ids[b" room"][0]] = math.log(0.15)
            search.learn(position, told)
    found = search.probabilities()
    assert found is not None
    assert max(found) == found[1]  # twice money and room against once
    assert min(found) > 0
    assert num_looks <= MOST_LOOKS + 60


def test_what_is_not_looked_at_counts_against_every_choice() -> None:
    search = ChoiceSearch(
        Spellings(
            plainly(("a" * 40, "b" * 40)), True, {b"a": [0], b"aa": [1], b"b": [2], b"bb": [3]}, no_encoder
        )
    )
    num_looks = 0
    while wave := search.wave():
        num_looks += len(wave)
        for position in wave:
            search.learn(position, dict.fromkeys(range(4), math.log(0.25)))
    assert num_looks == MOST_LOOKS
    found = search.probabilities()
    assert found is None or sum(found) < 1


def test_a_choice_that_no_tokens_spell_has_no_probability() -> None:
    spellings = Spellings(plainly(("ab", "c")), True, {b"a": [0], b"b": [1]}, no_encoder)
    search = ChoiceSearch(spellings)
    while wave := search.wave():
        for position in wave:
            search.learn(position, {0: -1.0, 1: -1.0})
    assert search.probabilities() == [1.0, 0.0]
    nothing = ChoiceSearch(Spellings(plainly(("c",)), True, {b"a": [0]}, no_encoder))
    (start,) = nothing.wave()
    nothing.learn(start, {})
    assert nothing.wave() == []
    assert nothing.probabilities() is None


def test_what_is_no_number_is_no_probability() -> None:
    search = ChoiceSearch(Spellings(plainly(("a", "b")), True, {b"a": [0], b"b": [1]}, no_encoder))
    (start,) = search.wave()
    search.learn(start, dict.fromkeys(range(2), math.nan))
    assert search.wave() == []
    assert search.probabilities() is None


def test_a_choice_that_begins_with_white_space_takes_no_other() -> None:
    tokens_of = {b" ": [0], b"a": [1], b"b": [2], b" a": [3]}
    spellings = Spellings(plainly((" a", "b")), False, tokens_of, no_encoder)
    assert {step.token for step in spellings.steps(b"")} == {0, 2, 3}


CAPITALS = {
    b"yes": [0],
    b"Yes": [1],
    b"no": [2],
    b"No": [3],
    b"y": [4],
    b"es": [5],
    b"n": [6],
    b"o": [7],
    b"Y": [8],
}
SAYS = {1: 0.8, 3: 0.1, 0: 0.002, 2: 0.001, 4: 0.004, 6: 0.003, 8: 0.003}  # a model that begins a sentence


def looks(search: ChoiceSearch, says: dict[int, float]) -> int:
    """How often a search looks, where each place is as the first."""
    num_looks = 0
    while wave := search.wave():
        num_looks += len(wave)
        for position in wave:
            search.learn(position, {token: math.log(says.get(token, 1e-4)) for token in range(9)})
    return num_looks


def test_a_model_that_begins_a_sentence_is_understood_at_once() -> None:
    grammar = Grammar(choices=("yes", "no"))
    assert grammar.written == {"yes": "yes", "no": "no", "Yes": "yes", "No": "no"}
    spellings = Spellings(grammar.written, True, CAPITALS, lambda text: CAPITALS.get(text.encode(), []))
    search = ChoiceSearch(spellings, sure_at=0.8)
    assert looks(search, SAYS) == 1
    found = search.probabilities()
    assert found == pytest.approx([0.802 / 0.903, 0.101 / 0.903])
    assert not spellings.counts((8,), b"Y")  # no way to write `Yes` but the tokenizer's own
    assert spellings.counts((4,), b"y")
    before = ChoiceSearch(Spellings(plainly(("yes", "no")), True, CAPITALS, no_encoder))
    assert looks(before, SAYS) >= 3  # it was lost among the ways to spell what it would not say


@pytest.mark.cells(8)
@pytest.mark.parametrize("sharpness", [0.3, 2, 6])
@pytest.mark.parametrize("seed", range(8))
def test_a_probability_is_known_well_enough_to_be_compared(seed: int, sharpness: float) -> None:
    model = MadeUpModel(seed, sharpness)
    for choices in (TWO_WAY, WITH_LONGER):
        spellings = Spellings(plainly(choices), True, model.tokens_of, model.encode)

        def found_by(sure_at: float, spellings: Spellings = spellings) -> tuple[list[float], int]:
            search, num_looks = ChoiceSearch(spellings, sure_at), 0
            while wave := search.wave():
                num_looks += len(wave)
                for position in wave:
                    search.learn(position, model.logprobs(position.path))
            return search.probabilities() or [], num_looks

        exact, most = found_by(1.0)
        for sure_at in (0.0, 0.3, 0.6, 0.9, 0.99):
            found, num_looks = found_by(sure_at)
            assert num_looks <= most
            if abs(max(exact) - sure_at) > 2 * DOUBT:
                assert (max(found) >= sure_at) == (max(exact) >= sure_at)
            if max(exact) >= sure_at:
                assert exact[found.index(max(found))] >= max(exact) - 2 * DOUBT


@pytest.mark.vllm
def test_the_vocabulary_of_the_tiny_model(model_path: Any) -> None:
    transformers = pytest.importorskip("transformers", reason="vLLM is not installed")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_path)
    tokens = vocabulary_of(tokenizer, 8192)
    for text in (" yes", "no", "positive", "é"):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        spelled = b"".join(next(b for b, same in tokens.items() if each in same) for each in ids)
        assert spelled == text.encode()
    assert b"</s>" not in tokens


@pytest.mark.parametrize("mode", ["processed_logprobs", "raw_logits"])
def test_numbers_that_are_no_probabilities_are_refused_before_an_engine_starts(mode: str) -> None:
    engine = LocalEngine("tiny", "./nowhere", engine_args={"logprobs_mode": mode})
    with pytest.raises(OptionError, match=f"min_confidence, .*tiny is run with .* logprobs_mode = '{mode}'"):
        ask(engine, ["a"], with_confidence=True)
