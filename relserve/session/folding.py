"""Equal prompts are asked once: the distinct prompts of many rows, and the way back to the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class FoldedRows(NamedTuple):
    """The rows of one round, folded.

    Attributes:
        prompts: the distinct prompts, in the order of their first rows.
        num_rows_of: table rows that each distinct prompt stands for.
        may_split: the prompts, by number, that the caller asks in parts if they are over the context.
        prompt_of_row: the number of each row's prompt; None for a row that a NULL leaves without one.
        num_null: table rows without a prompt.
    """

    prompts: list[str]
    num_rows_of: list[int]
    may_split: frozenset[int]
    prompt_of_row: list[int | None]
    num_null: int

    def spread(self, each: Sequence[T], null: T) -> list[T]:
        """What was found for each distinct prompt, in the order of the rows; `null` where there is none."""
        return [null if number is None else each[number] for number in self.prompt_of_row]


def fold_rows(
    prompts: Sequence[str | None],
    multiplicity: Sequence[int] | None = None,
    may_split: Sequence[bool] | None = None,
) -> FoldedRows:
    """Fold rows with equal prompts.

    Args:
        prompts: one a row; None where a NULL makes the answer NULL.
        multiplicity: table rows that each row stands for; None: one each.
        may_split: whether the caller asks a row in parts if it is over the context; None: no row.
    """
    weights = multiplicity or [1] * len(prompts)
    splits = may_split or [False] * len(prompts)
    numbers: dict[str, int] = {}
    num_rows_of: list[int] = []
    prompt_of_row: list[int | None] = []
    splitting: set[int] = set()
    num_null = 0
    for prompt, weight, split in zip(prompts, weights, splits, strict=True):
        if prompt is None:
            prompt_of_row.append(None)
            num_null += weight
            continue
        number = numbers.setdefault(prompt, len(numbers))
        if number == len(num_rows_of):
            num_rows_of.append(0)
        num_rows_of[number] += weight
        prompt_of_row.append(number)
        if split:
            splitting.add(number)
    return FoldedRows(list(numbers), num_rows_of, frozenset(splitting), prompt_of_row, num_null)
