"""What one llm call of a statement would ask, as far as it can be told."""

from __future__ import annotations

from dataclasses import dataclass

from relserve.call.options import Options
from relserve.session.estimate import Estimate
from relserve.session.likely_spending import LikelySpending
from relserve.session.spending import Foreseen
from relserve.session.sureness import Sureness


@dataclass(frozen=True)
class CallEstimate:
    """One call site.

    Attributes:
        number: from 1, in the order in which the sites would be asked.
        estimate: None where no rehearsal reached the call.
        depends_on: numbers of the calls whose answers decide which rows or values reach this one.
        at_most: its rows are an upper bound, as far as rehearsals with made-up answers can tell.
        options: of the call; None where no row of it was seen.
        untold: why the tokens of its prompts cannot be told, "" where they can.
        sampled: how sure the model was of a sample; None: none was asked for, or it has no probabilities.
    """

    number: int
    function: str
    template: str
    estimate: Estimate | None
    depends_on: tuple[int, ...] = ()
    at_most: bool = False
    untold: str = ""
    options: Options | None = None
    sampled: Sureness | None = None

    @property
    def prompt_tokens(self) -> int | None:
        return None if self.estimate is None or self.untold else self.estimate.prompt_tokens

    @property
    def shared(self) -> float | None:
        return None if self.estimate is None or self.untold else self.estimate.shared

    @property
    def seconds(self) -> float | None:
        return None if self.estimate is None or self.untold else self.estimate.seconds

    @property
    def likely(self) -> LikelySpending | None:
        """The tokens and the money that it will likely take; None where they cannot be told."""
        return None if self.estimate is None or self.untold else self.estimate.likely

    @property
    def cost(self) -> float | None:
        """US dollars; None: unknown."""
        return None if self.likely is None else self.likely.cost

    @property
    def foreseen(self) -> Foreseen | None:
        """What caps look at before it asks; None where its options are not known."""
        if self.options is None or self.estimate is None:
            return None
        at_most = self.at_most or self.options.join != "pairs"
        return Foreseen(self.function, self.options, self.estimate.model, self.likely, at_most)

    @property
    def seconds_from(self) -> str:
        """What `seconds` rests on, or why it is None."""
        if self.estimate is None:
            return "no rehearsal reached it"
        return self.untold or self.estimate.basis
