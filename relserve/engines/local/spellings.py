"""The ways in which a model's tokens spell a choice: every sequence of tokens whose bytes are its text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple


class SpellingStep(NamedTuple):
    """A token that goes on with a spelling, and the bytes spelled when it is there."""

    token: int
    spelled: bytes


class Spellings:
    """The spellings of some choices.

    Args:
        written: ways to write choices, each with the choice that it is; see `Grammar.written`.
        takes_space: whether one space may stand before them; see `Grammar.takes_space`.
        tokens_of: the ids of the tokens that stand for these bytes; see `vocabulary_of`.
        encode: how the tokenizer itself cuts a text, in token ids.
    """

    def __init__(
        self,
        written: Mapping[str, str],
        takes_space: bool,
        tokens_of: Mapping[bytes, Sequence[int]],
        encode: Callable[[str], Sequence[int]],
    ) -> None:
        self.choices = tuple(dict.fromkeys(written.values()))
        self._tokens_of = tokens_of
        numbers = {choice: i for i, choice in enumerate(self.choices)}
        leads = ("", " ")[: 1 + takes_space]
        texts = {lead + text: numbers[choice] for text, choice in written.items() for lead in leads}
        self._ends = {text.encode(): i for text, i in texts.items()}
        self._sorted = sorted(self._ends)
        self._as_given = sorted((lead + choice).encode() for choice in self.choices for lead in leads)
        paths = [tuple(encode(text)) for text in texts]
        self._straight = {path[:i] for path in paths for i in range(len(path) + 1)}
        self.steps = cache(self._steps)

    def end_of(self, spelled: bytes) -> int | None:
        """The index of the choice that these bytes spell; None where they are not all of one."""
        return self._ends.get(spelled)

    def goes_on(self, spelled: bytes) -> bool:
        """Whether these bytes begin a longer choice."""
        after = bisect_right(self._sorted, spelled)
        return after < len(self._sorted) and self._sorted[after].startswith(spelled)

    def counts(self, path: tuple[int, ...], spelled: bytes) -> bool:
        """Whether tokens that spell these bytes count: any of a choice as given, else the tokenizer's own.

        With a capital letter a model writes a word as it is cut, or not at all: no other way is worth a look.
        """
        first = bisect_left(self._as_given, spelled)
        begins = first < len(self._as_given) and self._as_given[first].startswith(spelled)
        return begins or self.is_straight(path)

    def is_straight(self, path: tuple[int, ...]) -> bool:
        """Whether tokens are the beginning of a choice as the tokenizer itself would cut it."""
        return path in self._straight

    def _steps(self, spelled: bytes) -> tuple[SpellingStep, ...]:
        """The tokens that may come next, when the bytes `spelled` are there."""
        longer: set[bytes] = set()
        for end in islice(self._sorted, bisect_right(self._sorted, spelled), None):
            if not end.startswith(spelled):
                break
            longer.update(end[: i + 1] for i in range(len(spelled), len(end)))
        return tuple(
            SpellingStep(token, after)
            for after in sorted(longer)
            for token in self._tokens_of.get(after[len(spelled) :], ())
        )


def vocabulary_of(tokenizer: Any, size: int) -> dict[bytes, list[int]]:
    """The ids of the tokens that stand for the same bytes, without special tokens.

    Args:
        tokenizer: a Hugging Face tokenizer.
        size: of the model's vocabulary, which may be larger or smaller than the tokenizer's.
    """
    import xgrammar  # comes with vLLM, which masks by the same table

    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=size)
    special = {*info.special_token_ids, *info.stop_token_ids, *tokenizer.all_special_ids}
    tokens_of: dict[bytes, list[int]] = {}
    for token, spelled in enumerate(info.decoded_vocab[:size]):
        if spelled and token not in special:
            tokens_of.setdefault(spelled, []).append(token)
    return tokens_of
