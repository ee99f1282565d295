"""The checked options of an llm call, as `options` declares and reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from relserve.call.decisions import PriorOf, Read
from relserve.call.questions import TypedQuestion
from relserve.call.slo import Slo
from relserve.call.turns import CallExample

JoinBy = Literal["pairs", "classify", "blocks", "candidates", "auto"]


@dataclass(frozen=True)
class Options:
    """What a call asked for, checked. Unset options hold their default."""

    max_tokens: int | None = None
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    system: str | None = None
    model: str | None = None
    on_error: str = "null"
    choices: tuple[str, ...] = ()
    descriptions: tuple[str | None, ...] = ()  # of each choice, where any has one
    lo: float | None = None
    hi: float | None = None
    schema: str = ""
    min_confidence: float | None = None
    max_chars: int = 8000
    field_order: str = "given"
    thinking: int = 0  # most tokens of thoughts before an answer
    grammar: str = ""
    deadline: float | None = None  # seconds
    slo: Slo | None = None
    examples: tuple[CallExample, ...] = ()
    read: Read = "label"
    threshold: float = 0.5
    levels: tuple[str, ...] = ()
    questions: tuple[TypedQuestion, ...] = ()
    calibration: str | tuple[tuple[str, str], ...] | None = None  # its name, or that of each label
    verbatim: bool = False
    offsets: bool = False
    debias: int = 1  # orders of the choices that a row is read in
    prior: PriorOf = "none"
    label_mass: bool = False
    max_rows: int | None = None
    max_tokens_total: int | None = None
    max_cost: float | None = None  # US dollars
    cascade: str | None = None  # the small model of a cascade, or what is learnt in its place
    precision: float | None = None
    recall: float | None = None
    accuracy: float | None = None
    error: float | None = None
    confidence: float | None = None
    k: int | None = None  # values of an order, from the first on; None: all
    join: JoinBy = "pairs"

    @property
    def models(self) -> tuple[str | None, ...]:
        """Those that the call asks; None: the default model."""
        return (self.model,) if self.cascade is None else (self.model, self.cascade)

    @property
    def asks_fewer(self) -> bool:
        """Whether some prompts are answered without asking them; which ones is not known before."""
        return self.cascade is not None or self.join != "pairs"

    @property
    def score_bounds(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        if self.levels:
            return 0.0, len(self.levels) - 1.0
        return 0.0 if self.lo is None else self.lo, 10.0 if self.hi is None else self.hi
