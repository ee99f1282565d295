"""How long outputs get: learnt from rows that ended and from those that still go on, for caps tell little.

A length distribution is kept as a discrete hazard: of the rows that got as far as a bin of lengths, the share
that ended in it (Kaplan and Meier 1958). So a row that still decodes, and one that its cap cut short, count
for what they show: that they are at least so long. Three levels lean on one another, in each bin: a
relQuery's own rows on those of its kind, these on all kinds, these on a guess. A template that nobody has
used yet begins at what answers usually are, and one whose answers become ten times as long is believed after
a few dozen rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from relserve.policies.model.length_bins import EDGES, GUESS, Floats, LengthCounts, LengthTable, bin_of

Given = Callable[[], Iterable[tuple[int, int]]]  # tokens given so far, and how many rows gave so many

GUESS_ROWS, GENERAL_ROWS, KIND_ROWS = 0.5, 1.0, 16.0  # rows that a level's word counts as, one level below
KIND_MEMORY, GENERAL_MEMORY, KIND_VOICE = 512.0, 4096.0, 64  # ended rows remembered; of a kind in general
MOST_KINDS = 1024
LAST_ALIVE = 0.6  # rows expected to be alive when the last one is said to end
DISBELIEF = 2  # what a row has given beyond its cap, times so much, is taken for the cap
RENEW_AFTER = 0.1  # share of the ended rows that is news
SHARED = 8  # relQueries of a kind that take one table, whatever its running rows show meanwhile
MOST_TABLES = 128  # of those that are shared
NOT_BEGUN, OUTDATED = -1, -2  # in place of how far a relQuery is: nothing has run, or its table is of no use


class RelLengths(Protocol):
    """What a scheduler takes the outputs of one relQuery's rows to be, in tokens."""

    @property
    def row(self) -> float:
        """Of a row that has not begun, on average."""

    @property
    def expected_left(self) -> Sequence[float]:
        """By tokens given so far, what a row has still to give on average; the last element goes on."""

    @property
    def seen(self) -> float:
        """The longest that there was of its kind; 0 where nothing was seen."""

    @property
    def is_outdated(self) -> bool:
        """Whether much more is known than when this was made up."""

    def longest_left(self, tokens: int, num_rows: int) -> float:
        """What the last of some rows to end has still to give, when all have given at least `tokens`."""

    def ended(self, tokens: int, is_whole: bool) -> None:
        """A row ended; not `is_whole` where its cap or an abort cut it short."""

    def renew(self, most: int, given: Given) -> bool:
        """Take account of what ended, and of rows that go on; the longest has given `most` tokens.

        Gives whether what is told of a row by what it has given may be other than before.
        """

    def rest(self) -> None:
        """None of its rows goes on any more: they show nothing of their kind."""

    def allow(self, cap: int) -> None:
        """A row may give up to so many tokens."""


class CapLengths:
    """Every row is taken to be as long as it may be, as the published policies do."""

    def __init__(self, cap: int) -> None:
        self.row: float = 0.0
        self.expected_left: Sequence[float] = range(0)
        self.allow(cap)

    @property
    def seen(self) -> float:
        """See `RelLengths.seen`; the cap is believed."""
        return float(len(self.expected_left))

    @property
    def is_outdated(self) -> bool:
        """See `RelLengths.is_outdated`."""
        return False

    def longest_left(self, tokens: int, num_rows: int) -> float:
        """See `RelLengths.longest_left`."""
        return float(max(len(self.expected_left) - tokens, 1))

    def ended(self, tokens: int, is_whole: bool) -> None:
        """See `RelLengths.ended`."""

    def renew(self, most: int, given: Given) -> bool:
        """See `RelLengths.renew`; a cap that a row exceeds is believed no more."""
        if most >= len(self.expected_left):
            self.allow(DISBELIEF * (most + 1))
        return True

    def rest(self) -> None:
        """See `RelLengths.rest`."""

    def allow(self, cap: int) -> None:
        """See `RelLengths.allow`."""
        if cap > len(self.expected_left):
            self.row, self.expected_left = float(cap), range(cap, 0, -1)


class _Shared:
    """A table that relQueries share, how many took it, and how many rows may have ended while it is good."""

    __slots__ = ("most_ended", "num_users", "table")

    def __init__(self, table: LengthTable, most_ended: float) -> None:
        self.table, self.most_ended, self.num_users = table, most_ended, 0


class LengthLearner:
    """What is known of output lengths, by kind of relQuery: the template, function and options.

    Attributes:
        kinds: how the rows of each kind ended, the kind used last at the end.
        general: the same of all kinds, none of which has much more to say than another.
    """

    def __init__(self) -> None:
        self.kinds: OrderedDict[str, LengthCounts] = OrderedDict()
        self.general = LengthCounts(GENERAL_MEMORY)
        self._shared: OrderedDict[tuple[str | None, int, int], _Shared] = OrderedDict()
        self._hazards, self._num_in_hazards = GUESS, -1
        self._of_one_row: dict[tuple[int, int], LengthTable] = {}

    def of(self, kind: str | None, cap: int, likely: int | None = None) -> LearntLengths:
        """For a relQuery that comes.

        Args:
            kind: rows of one kind have outputs of one distribution; None: of none that comes again.
            cap: the most tokens that a row may give.
            likely: the most that it gives by what its client or its type says; not believed any more once a
                row has given more.
        """
        limit = max(cap if likely is None else min(likely, cap), 1)
        rows = None if kind is None else self._rows_of(kind)
        return LearntLengths(self, kind, rows, cap, limit)

    def _rows_of(self, kind: str) -> LengthCounts:
        rows = self.kinds.pop(kind, None) or LengthCounts(KIND_MEMORY)
        self.kinds[kind] = rows
        while len(self.kinds) > MOST_KINDS:
            self.kinds.popitem(last=False)
        return rows

    def hazards(self) -> Floats:
        """Those of all kinds; counted anew only when a row has ended since."""
        if self._num_in_hazards != self.general.num_ended:
            self._hazards = self.general.hazards(GUESS, GUESS_ROWS)
            self._num_in_hazards = self.general.num_ended
            self._of_one_row = {}
        return self._hazards

    def of_one_row(self, given: int, limit: int) -> LengthTable:
        """For a relQuery of no kind of which one row runs and none ended; several share it."""
        hazards, key = self.hazards(), (bin_of(given + 1), limit)
        table = self._of_one_row.get(key)
        if table is None:
            if len(self._of_one_row) >= MOST_TABLES:
                self._of_one_row = {}
            row = LengthCounts(1e9)
            row.alive[key[0]] = 1.0
            hazards = row.hazards(row.hazards(hazards, GENERAL_ROWS), KIND_ROWS)
            table = self._of_one_row[key] = LengthTable.of(hazards, limit, row.longest)
        return table

    def of_kind(
        self, kind: str | None, rows: LengthCounts | None, limit: int, top: int = NOT_BEGUN
    ) -> LengthTable:
        """What a relQuery is taken to give that knows no more than its kind; tens of thousands come at once.

        Args:
            top: how often the tokens of its longest row have doubled, or NOT_BEGUN.
        """
        num_ended, key = (self.general if rows is None else rows).num_ended, (kind, limit, top)
        shared = self._shared.pop(key, None)
        is_old = shared is None or num_ended > shared.most_ended
        if shared is None or is_old or (rows is not None and shared.num_users >= SHARED):
            general = self.hazards()
            hazards = general if rows is None else rows.hazards(general, GENERAL_ROWS)
            seen = 0 if rows is None else rows.longest
            most_ended = num_ended + RENEW_AFTER * min(num_ended, KIND_MEMORY)
            shared = _Shared(LengthTable.of(hazards, limit, seen), most_ended)
        shared.num_users += 1
        self._shared[key] = shared
        while len(self._shared) > MOST_TABLES:
            self._shared.popitem(last=False)
        return shared.table

    def as_dict(self) -> dict[str, Any]:
        """All that was learnt, as JSON can hold it."""
        return {
            "general": self.general.as_dict(),
            "kinds": {kind: rows.as_dict() for kind, rows in self.kinds.items() if rows.num_ended},
        }

    @classmethod
    def from_dict(cls, learnt: Mapping[str, Any]) -> LengthLearner:
        """What `as_dict` gave.

        Raises:
            ValueError, TypeError, KeyError, AttributeError: it is something else.
        """
        learner = cls()
        learner.general.load(learnt["general"])
        for kind, rows in list(learnt["kinds"].items())[-MOST_KINDS:]:
            learner.kinds[kind] = LengthCounts(KIND_MEMORY)
            learner.kinds[kind].load(rows)
        return learner


class LearntLengths:
    """The lengths of one relQuery, as its kind and its own rows tell them; see `RelLengths`.

    Attributes:
        row, expected_left, seen: see `RelLengths`.
    """

    def __init__(
        self, learner: LengthLearner, kind: str | None, rows: LengthCounts | None, cap: int, limit: int
    ) -> None:
        self._learner, self._kind_name, self._kind = learner, kind, rows
        self._own: LengthCounts | None = None  # until two of its rows have run
        self._ended: list[tuple[int, bool]] = []  # its own rows that `_own` does not know of yet
        self._num_own = 0  # that ended
        self._alive_in = -1  # the bin in which its kind counts the only row of it that runs
        self._cap, self._limit = max(cap, 1), limit
        self._top, self.seen = NOT_BEGUN, 0.0
        self._take(learner.of_kind(kind, rows, limit))

    @property
    def is_outdated(self) -> bool:
        """See `RelLengths.is_outdated`."""
        if self._num_known >= KIND_MEMORY:
            return False
        if num_ended := self._num_ended:
            return num_ended > 2 * self._num_known
        return self._learner.general.num_ended > 2 * self._num_general

    @property
    def _num_ended(self) -> int:
        """Rows of its kind that ended; its own where it has no kind."""
        return self._num_own if self._kind_name is None or self._kind is None else self._kind.num_ended

    def ended(self, tokens: int, is_whole: bool) -> None:
        """See `RelLengths.ended`."""
        place = bin_of(max(tokens, 1))
        self._ended.append((place, is_whole))
        self._num_own += 1
        if self._kind_name is not None and self._kind is not None:
            self._kind.add(place, is_whole)
        self._learner.general.add(place, is_whole, min(1.0, KIND_VOICE / self._num_ended))
        if self._own is not None:
            self._levels()

    def renew(self, most: int, given: Given) -> bool:
        """See `RelLengths.renew`; does nothing while there is little news."""
        num_known, num_ended = self._num_known, self._num_ended
        top = (most + 1).bit_length() if most >= 0 else NOT_BEGUN
        has_news = num_ended - num_known > RENEW_AFTER * num_known
        if top == self._top and not has_news and (num_ended or not self.is_outdated):  # of all kinds
            return False
        self._top = top
        if most >= self._limit:
            self._limit = self._cap if most < self._cap else DISBELIEF * (most + 1)
        rows = list(given()) if most >= 0 else []
        if self._own is None and not self._num_own and rows in ([], [(most, 1)]):
            self._take(self._of_its_kind(most, top))
            self.seen = max(self.seen, float(min(most + 1, self._limit)))
            return True
        self.rest()
        own, kind = self._levels()
        for tokens, num_rows in rows:
            own.alive[bin_of(tokens + 1)] += num_rows
        kind.alive += own.alive
        hazards = own.hazards(kind.hazards(self._learner.hazards(), GENERAL_ROWS), KIND_ROWS)
        self._take(LengthTable.of(hazards, self._limit, kind.longest))
        return True

    def _of_its_kind(self, most: int, top: int) -> LengthTable:
        """What is known of it while one row runs, or none did yet: no more than of its kind."""
        learner, limit = self._learner, self._limit
        if self._kind is None:
            return learner.of_kind(None, None, limit) if most < 0 else learner.of_one_row(most, limit)
        self.rest()
        if most >= 0:
            self._alive_in = bin_of(most + 1)
            self._kind.alive[self._alive_in] += 1.0
        return learner.of_kind(self._kind_name, self._kind, limit, top)

    def rest(self) -> None:
        """See `RelLengths.rest`."""
        if self._alive_in >= 0 and self._kind is not None:
            self._kind.alive[self._alive_in] -= 1.0
            self._alive_in = -1
        if self._own is not None and self._kind is not None:
            self._kind.alive -= self._own.alive
            self._own.alive[:] = 0.0

    def allow(self, cap: int) -> None:
        """See `RelLengths.allow`."""
        if cap > self._cap:
            self._limit = cap if self._limit == self._cap else self._limit
            self._cap, self._top = cap, OUTDATED

    def longest_left(self, tokens: int, num_rows: int) -> float:
        """See `RelLengths.longest_left`."""
        ends, limit = self._ends, self._limit
        place = min(bin_of(tokens) + 1, len(ends) - 1) if tokens else 0
        alive = 1.0 - ends[place]
        alive = LAST_ALIVE / max(num_rows, 1) * (alive if alive > 1e-9 else 1e-9)
        place = bisect_left(ends, 1.0 - alive)
        if place >= len(ends):
            longest = float(limit)
        elif place:
            before, after = ends[place - 1], ends[place]
            part = (1.0 - alive - before) / (after - before)
            longest = EDGES[place - 1] + part * (EDGES[place] - EDGES[place - 1])
        else:
            longest = 1.0
        left = (longest if longest < limit else limit) - tokens
        return float(left) if left > 1.0 else 1.0

    def _levels(self) -> tuple[LengthCounts, LengthCounts]:
        """Its own rows and those of its kind, with all that ended."""
        if self._own is None:
            self._own = LengthCounts(1e9)
        if self._kind is None:
            self._kind = LengthCounts(KIND_MEMORY)
        for place, is_whole in self._ended:
            self._own.add(place, is_whole)
            if self._kind_name is None:
                self._kind.add(place, is_whole)
        self._ended = []
        return self._own, self._kind

    def _take(self, table: LengthTable) -> None:
        """Go by a table that knows all that there is to know now."""
        self._num_known = self._num_ended
        self._num_general = self._learner.general.num_ended
        self._ends, self.row, self.expected_left, self.seen = table
