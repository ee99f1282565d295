"""What llm_decide gives: a field for each typed question about a row, all asked after the row's one state."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from relserve.call.answer_types import ChoiceAnswer, described
from relserve.call.decisions import LABEL_MASS, Decision, FollowUp, expected_level, masses_by_name
from relserve.call.questions import TypedQuestion

_MAP = "MAP(VARCHAR, DOUBLE)"
MASSES = _MAP  # of the field that label_mass adds
# The type of a question's field, as from_json takes it.
FIELD_TYPES = {
    "noul": "DOUBLE",
    "choice": {"choice": "VARCHAR", "probability": "DOUBLE", "probabilities": _MAP},
    "score": {"score": "DOUBLE", "probability": "DOUBLE", "probabilities": _MAP},
}


@dataclass(frozen=True)
class Decided(Decision):
    """The answers to several questions: JSON that from_json turns into a STRUCT with a field for each.

    The choices are the questions' ids.

    Attributes:
        label_mass: one field more is a MAP from each id to the probability of all labels together.
    """

    questions: tuple[TypedQuestion, ...] = ()
    label_mass: bool = False

    @property
    def sql_type(self) -> str:
        return "VARCHAR"

    @property
    def instruction(self) -> str:
        return ""  # the state comes first, so that its questions share it

    @cached_property
    def follow_ups(self) -> tuple[FollowUp, ...]:
        return tuple(FollowUp(_asked(each), each.choices, each.key) for each in self.questions)

    @cached_property
    def schema(self) -> str:
        """The type of the answers, as from_json takes it."""
        types: dict[str, Any] = {each.key: FIELD_TYPES[each.kind] for each in self.questions}
        if self.label_mass:
            types[LABEL_MASS] = MASSES
        return json.dumps(types, ensure_ascii=False)

    def value_of(self, probabilities: Sequence[float], label_masses: Sequence[float] = ()) -> str:
        """The fields; null for a question whose probabilities are NaN."""
        left = iter(probabilities)
        fields = {each.key: _field_of(each, left) for each in self.questions}
        if self.label_mass:
            fields[LABEL_MASS] = masses_by_name(self.choices, label_masses)
        return json.dumps(fields, ensure_ascii=False)


def _asked(question: TypedQuestion) -> str:
    """A question as it stands after the state; the line that labels may replace comes last."""
    told = described(question.choices, question.descriptions)
    return "\n".join([question.instructions, *told, ChoiceAnswer(question.choices).instruction])


def _field_of(question: TypedQuestion, left: Iterator[float]) -> Any:
    """The field of a question, whose probabilities come next."""
    found = list(islice(left, len(question.choices)))
    if math.isnan(found[0]):
        return None
    if question.kind == "noul":
        return found[0]
    best = max(range(len(found)), key=found.__getitem__)
    is_score = question.kind == "score"
    answer: Any = expected_level(found) if is_score else question.choices[best]
    return {
        question.kind: answer, "probability": found[best],
        "probabilities": dict(zip(question.choices, found, strict=True)),
    }  # fmt: skip
