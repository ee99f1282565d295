"""Savepoints, as far as DuckDB can go without any: back to one since which nothing was written.

Drivers nest transactions with them, and mostly release them. A statement that failed ends DuckDB's
transaction, so that it cannot go back behind one either; the transaction says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from relserve.errors import ProtocolError

_UNDOES = "DuckDB has no savepoints: what was written since {} can only be undone with the whole transaction"


@dataclass
class _Savepoint:
    name: str
    is_clean: bool = True  # nothing was written since


class Savepoints:
    """Those of one transaction."""

    def __init__(self) -> None:
        self._kept: list[_Savepoint] = []

    @property
    def are_set(self) -> bool:
        """Whether there is one."""
        return bool(self._kept)

    def add(self, name: str) -> None:
        """SAVEPOINT; a name may be there twice, and the later one counts."""
        self._kept.append(_Savepoint(name))

    def release(self, name: str) -> None:
        """RELEASE it, and those after it.

        Raises:
            ProtocolError: there is none of this name.
        """
        del self._kept[self._place(name) :]

    def go_back(self, name: str) -> None:
        """ROLLBACK TO it: those after it are gone.

        Raises:
            ProtocolError: there is none of this name, or something was written since.
        """
        place = self._place(name)
        if not self._kept[place].is_clean:
            raise ProtocolError(_UNDOES.format(name), "0A000")
        del self._kept[place + 1 :]

    def wrote(self) -> None:
        """A statement has written something."""
        for each in self._kept:
            each.is_clean = False

    def clear(self) -> None:
        """The transaction ends."""
        self._kept.clear()

    def _place(self, name: str) -> int:
        for place in range(len(self._kept) - 1, -1, -1):
            if self._kept[place].name == name:
                return place
        raise ProtocolError(f'savepoint "{name}" does not exist', "3B001")
