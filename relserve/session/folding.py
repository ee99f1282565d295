"""Equal prompts are asked once: the distinct prompts of many rows, and the way back to the rows."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar, cast

from relserve.call.answer_types import Grammar

T = TypeVar("T")

Key = str | tuple[str, Grammar]  # of a prompt whose reply has no grammar of its own, and of one that has
Grammars = Sequence[Grammar | None]


class FoldedRows(NamedTuple):
    """The rows of one round, folded.

    Attributes:
        prompts: the distinct prompts, in the order of their first rows.
        num_rows_of: table rows that each distinct prompt stands for.
        may_split: the prompts, by number, that the caller asks in parts if they are over the context.
        prompt_of_row: the number of each row's prompt; None for a row that a NULL leaves without one.
        num_null: table rows without a prompt.
        grammars: of the distinct prompts' replies; None: no row has one of its own.
        asks_again: the caller asks what fails in another way, so that no failure of these is on record.
    """

    prompts: list[str]
    num_rows_of: list[int]
    may_split: frozenset[int]
    prompt_of_row: Sequence[int | None]
    num_null: int
    grammars: list[Grammar | None] | None = None
    asks_again: bool = False

    @property
    def keys(self) -> Sequence[Key]:
        """What tells the distinct prompts apart: themselves, and the grammars of their replies."""
        return self.prompts if self.grammars is None else _keys(self.prompts, self.grammars)

    @property
    def order(self) -> list[int]:
        """The numbers of the prompts by their texts: rows come in any order, and the same are to be asked."""
        return sorted(range(len(self.prompts)), key=self.prompts.__getitem__)

    @property
    def seed(self) -> int:
        """Of what is drawn among them: the same in SQL and as a dataframe, today and tomorrow."""
        return zlib.crc32("\n".join(sorted(self.prompts)).encode(errors="replace"))

    def part(self, numbers: Sequence[int]) -> FoldedRows:
        """Some of the distinct prompts, by their numbers, as the rows of a round."""
        prompts, num_rows_of = self.prompts, self.num_rows_of
        return folded_before([prompts[each] for each in numbers], [num_rows_of[each] for each in numbers])

    def spread(self, each: Sequence[T], null: T) -> list[T]:
        """What was found for each distinct prompt, in the order of the rows; `null` where there is none."""
        return [null if number is None else each[number] for number in self.prompt_of_row]


def fold_rows(
    prompts: Sequence[str | None],
    multiplicity: Sequence[int] | None = None,
    may_split: Sequence[bool] | None = None,
    grammars: Grammars | None = None,
) -> FoldedRows:
    """Fold rows with equal prompts, and equal grammars if they have any.

    Args:
        prompts: one a row; None where a NULL makes the answer NULL.
        multiplicity: table rows that each row stands for; None: one each.
        may_split: whether the caller asks a row in parts if it is over the context; None: no row.
        grammars: of each row's reply, where it has one of its own; None: of no row.
    """
    keys = prompts if grammars is None else _keys(prompts, grammars)
    weights = multiplicity or [1] * len(prompts)
    if grammars is None and may_split is None and len(set(prompts)) == len(prompts):
        return _as_they_are(prompts, weights)
    splits = may_split or [False] * len(prompts)
    numbers: dict[Key, int] = {}
    num_rows_of: list[int] = []
    prompt_of_row: list[int | None] = []
    splitting: set[int] = set()
    num_null = 0
    for key, weight, split in zip(keys, weights, splits, strict=True):
        if key is None:
            prompt_of_row.append(None)
            num_null += weight
            continue
        number = numbers.setdefault(key, len(numbers))
        if number == len(num_rows_of):
            num_rows_of.append(0)
        num_rows_of[number] += weight
        prompt_of_row.append(number)
        if split:
            splitting.add(number)
    folded = FoldedRows([], num_rows_of, frozenset(splitting), prompt_of_row, num_null)
    if grammars is None:
        return folded._replace(prompts=cast(list[str], list(numbers)))
    return folded._replace(
        prompts=[key if isinstance(key, str) else key[0] for key in numbers],
        grammars=[None if isinstance(key, str) else key[1] for key in numbers],
    )


def folded_before(prompts: Sequence[str], num_rows_of: Sequence[int], num_null: int = 0) -> FoldedRows:
    """Rows that somebody else has folded: distinct prompts, and how many table rows each stands for."""
    return FoldedRows(list(prompts), list(num_rows_of), frozenset(), range(len(prompts)), num_null)


def _as_they_are(prompts: Sequence[str | None], weights: Sequence[int]) -> FoldedRows:
    """Prompts of which no two are equal, as those of distinct rows mostly are: there is nothing to fold."""
    if None not in prompts:
        return folded_before(cast(Sequence[str], prompts), weights)
    at = prompts.index(None)
    kept = cast(list[str], [*prompts[:at], *prompts[at + 1 :]])
    folded = folded_before(kept, [*weights[:at], *weights[at + 1 :]], weights[at])
    return folded._replace(prompt_of_row=[*range(at), None, *range(at, len(kept))])


def _keys(prompts: Sequence[str | None], grammars: Grammars) -> list[Any]:
    pairs = zip(prompts, grammars, strict=True)
    return [prompt if prompt is None or grammar is None else (prompt, grammar) for prompt, grammar in pairs]
