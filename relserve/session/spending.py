"""What a session may spend: its caps, and the look at the estimate before the first row is asked."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from relserve.call.options import CAPS, Options
from relserve.errors import OptionError, SpendingError
from relserve.prices.price import dollars
from relserve.prices.prices import Prices
from relserve.session.caps import Amounts, Limits, SpendingCap
from relserve.session.likely_spending import LikelySpending

MOST_STATEMENTS = 256  # of which the caps are remembered
HOW_TO_GO_ON = "Nothing was asked. Raise the cap, or ask fewer rows (WHERE, LIMIT); EXPLAIN shows each call"


class Foreseen(NamedTuple):
    """One call that is about to ask.

    Attributes:
        likely: None: nothing is known of it.
        at_most: answers decide how much of it is asked.
    """

    function: str
    options: Options
    model: str
    likely: LikelySpending | None
    at_most: bool = False

    @property
    def amounts(self) -> Amounts:
        """Of what it will likely take."""
        if self.likely is None:
            return Amounts()
        return Amounts(self.likely.num_requests, self.likely.tokens, self.likely.cost or 0.0)


def limits_of(options: Options) -> Limits:
    """The caps that a call gives itself."""
    return Limits(options.max_rows, options.max_tokens_total, options.max_cost)


@dataclass
class Spending:
    """Caps of one session; safe for several threads.

    Attributes:
        prices: what models cost.
        statement: limits of each statement.
        connection: of all that the session asks; None: no cap.
        user: the cap of who asks, today, whose limits may be open; None: there is none.
        confirm_above: dollars from which on somebody is asked before a statement.
        confirm: asks them; None: there is nobody.
        default_is_priced: whether calls that name no model may cost something.
    """

    prices: Prices = field(default_factory=Prices)
    statement: Limits = Limits()  # noqa: RUF009
    connection: SpendingCap | None = None
    user: Callable[[], SpendingCap | None] = lambda: None
    confirm_above: float = float("inf")
    confirm: Callable[[str], bool] | None = None
    default_is_priced: bool = True
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _of_statement: OrderedDict[int, SpendingCap] = field(default_factory=OrderedDict)

    def looks_at(self, text: str) -> bool:
        """Whether a statement of this text, and its views', is to be estimated before it runs."""
        if self._limits_calls or any(name in text for name in CAPS):
            return True
        return self.confirm is not None and (self.default_is_priced or "://" in text)

    def looks_ahead(self, options: Options) -> bool:
        """Whether a call is to be estimated before it asks."""
        return self._limits_calls or not limits_of(options).is_open

    def caps(self, options: Options, model: str, statement: int | None) -> list[SpendingCap]:
        """The caps of a call of a statement.

        Raises:
            OptionError: one is on money, and nobody knows the model's price.
        """
        own = limits_of(options)
        found = [*([] if own.is_open else [SpendingCap(own, "the call")]), *self._shared(statement)]
        on_money = [cap.whose for cap in found if cap.limits.cost is not None]
        if on_money and self.prices.find(model) is None:
            raise OptionError(
                f"max_cost of {on_money[0]} needs the price of {model}, which is unknown: "
                f"{self.prices.how_to_give(model)} (docs/spending.md)"
            )
        return found

    def check(self, calls: Sequence[Foreseen]) -> None:
        """See before the first row whether what calls will likely ask is within the caps, and wanted.

        Raises:
            SpendingError: it is not, or somebody who was asked does not want it.
            OptionError: as of `caps`.
        """
        sure = [call for call in calls if not call.at_most]
        for call in calls:
            self.caps(call.options, call.model, None)  # a price may lack
        for call in sure:
            _refuse_over(SpendingCap(limits_of(call.options), f"{call.function}()"), [call])
        for cap in self._shared(None):
            _refuse_over(cap, sure)
        told = _told(calls)
        cost = sum(call.amounts.cost for call in calls)
        if self.confirm is not None and cost > self.confirm_above and not self.confirm(f"{told}: go on?"):
            raise SpendingError(f"nothing was asked: {told} were not confirmed")

    @property
    def _limits_calls(self) -> bool:
        """Whether a cap that calls share may refuse any."""
        return any(not cap.limits.is_open for cap in self._shared(None))

    def _shared(self, statement: int | None) -> list[SpendingCap]:
        """The caps that calls share; a new statement's where none is given."""
        found = [cap for cap in (self.connection, self.user()) if cap is not None]
        if self.statement.is_open:
            return found
        if statement is None:
            return [SpendingCap(self.statement, "a statement"), *found]
        with self._lock:
            if statement not in self._of_statement:
                self._of_statement[statement] = SpendingCap(self.statement, "a statement")
                while len(self._of_statement) > MOST_STATEMENTS:
                    self._of_statement.popitem(last=False)
            return [self._of_statement[statement], *found]


def _refuse_over(cap: SpendingCap, calls: Sequence[Foreseen]) -> None:
    total = reduce(Amounts.plus, [call.amounts for call in calls], Amounts())
    over = cap.exceeded_with(total) if total.rows else ""
    if over:
        rows = cap.spent.rows
        money = f" and {dollars(cap.spent.cost)}" if cap.limits.cost is not None else ""
        before = f", after {rows:,.0f} rows{money} before" if rows else ""
        said = f"this would ask {_told(calls)}{before}; the cap of {cap.whose} is {over}"
        raise SpendingError(f"{said}. {HOW_TO_GO_ON}")


def _told(calls: Sequence[Foreseen]) -> str:
    """E.g. "about 12,400 rows, 3.1 M tokens, 0.47 USD"."""
    rows, tokens, cost = reduce(Amounts.plus, [call.amounts for call in calls], Amounts())
    known = all(call.likely is not None and call.likely.cost is not None for call in calls)
    bound = "at most" if any(call.at_most for call in calls) else "about"
    count = f"{tokens / 1e6:,.1f} M" if tokens >= 1e6 else f"{tokens:,.0f}"
    return f"{bound} {rows:,.0f} rows, {count} tokens, {dollars(cost) if known else 'unknown cost'}"
