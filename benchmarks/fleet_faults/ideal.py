"""How long a relQuery is to take that loses a member on its way."""

from __future__ import annotations

from dataclasses import dataclass

SLOWED_TO = 1 / 3  # of its speed


@dataclass(frozen=True)
class Undisturbed:
    """Mean seconds of the relQuery where nobody has a fault.

    Attributes:
        both_s: by both members.
        alone_s: by one of them, the other drained.
    """

    both_s: float
    alone_s: float

    def ideal_s(self, kind: str, share: float) -> float:
        """Seconds of a relQuery whose fault comes once this share of its rows is answered."""
        return share * self.both_s + (1 - share) * (self.slowed_s if kind == "slowed" else self.alone_s)

    @property
    def slowed_s(self) -> float:
        """Seconds of it by one member beside a slowed one, which adds less than a whole one does."""
        whole = max(1 / self.both_s - 1 / self.alone_s, 0.0)  # relQueries a second; 0 where they share cores
        return 1 / (1 / self.alone_s + SLOWED_TO * whole)
