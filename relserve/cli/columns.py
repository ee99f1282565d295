"""Which columns of a table a screen has room for."""

from __future__ import annotations

from collections.abc import Sequence

NAME_WIDTH = 12  # of a longer name so much is shown, and of a longer text so much at least
_BORDER = 3  # a column's: a line, and a space on either side


def fitting(widths: Sequence[int], room: int) -> list[int | None]:
    """The columns to show: all, or the first and the last ones, with None for those between.

    Args:
        widths: the least that each column takes, in characters.
        room: of the screen.
    """
    if sum(widths) + _BORDER * len(widths) < room:
        return list(range(len(widths)))
    left, right, room = 0, len(widths), room - 1 - (1 + _BORDER)
    while left < right:
        is_left_turn = left <= len(widths) - right
        room -= widths[left if is_left_turn else right - 1] + _BORDER
        if room < 0 and left:
            break
        left, right = (left + 1, right) if is_left_turn else (left, right - 1)
    return [*range(left), None, *range(right, len(widths))]


def shortened(name: str, width: int) -> str:
    """A name as a column of this width shows it."""
    width = max(width, NAME_WIDTH)
    return name if len(name) <= width else name[: width - 1] + "…"
