"""The wires of decision servers: a state and typed questions there, the probabilities of choices back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from relserve.call.decisions import LABEL_MASS, YES_NO
from relserve.engines.http.reply import shown, unreadable
from relserve.errors import Failure, FailureKind

MOST_OFF = 0.02  # by which probabilities that a server rounds may miss 1 together
ROUNDING = 1e-6  # by which one may be below 0 or above 1


class AskedQuestion(NamedTuple):
    """A question about a state, and the choices of its answer."""

    text: str
    choices: tuple[str, ...]

    @property
    def is_yes_no(self) -> bool:
        return set(self.choices) == set(YES_NO)


class DecisionWire(ABC):
    """How a decision server is asked.

    Attributes:
        path: below the base URL.
        yes: the field of an answer to a question of yes or no that has the probability of yes.
    """

    path: ClassVar[str]
    yes: ClassVar[str]

    @abstractmethod
    def body(self, model: str, state: str, questions: Sequence[AskedQuestion]) -> dict[str, Any]:
        """A request."""

    @abstractmethod
    def answers_in(self, data: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The answers of a reply by the names of their questions; None where it has none in this form."""

    @abstractmethod
    def told_in(self, answer: Mapping[str, Any]) -> Mapping[Any, Any]:
        """The probabilities of the choices in an answer; any error that a lookup has where there are none."""

    def read(self, data: object, questions: Sequence[AskedQuestion]) -> list[tuple[float, ...] | Failure]:
        """The probabilities of the choices of each question, or why there are none.

        Raises:
            UnreadableReply: the body of the 200 response is no answer of this wire.
        """
        answers = self.answers_in(data) if isinstance(data, dict) else None
        if answers is None:
            raise unreadable(data, "decision")
        return [self._read(answers.get(name_of(number)), each) for number, each in enumerate(questions)]

    def mass_in(self, data: Any, number: int) -> float | None:
        """The probability of all labels of a question by its number; None where the server tells none.

        1.0 is none: vLLM says so of models that score the labels alone (`JointSchemaStrategy`).
        """
        try:
            told = data["diagnostics"][name_of(number)][LABEL_MASS]
            return None if told == 1 else _probability(told)
        except (LookupError, TypeError, ValueError):
            return None

    def _read(self, answer: Any, question: AskedQuestion) -> tuple[float, ...] | Failure:
        if answer is None:
            return Failure(FailureKind.REFUSED, "the server left this question without an answer")
        try:
            if answer.get("type") == "refusal" or answer.get("refusal"):
                why = shown(answer.get("refusal") or "without a reason")
                return Failure(FailureKind.REFUSED, f"the server refused this question: {why}")
            found = self._numbers(answer, question)
        except (LookupError, TypeError, ValueError, AttributeError):
            found = []
        total = sum(found)
        if not found or abs(total - 1) > MOST_OFF:
            told = f"the server's answer {shown(answer)} has no probabilities of the choices that add up to 1"
            return Failure(FailureKind.UNPARSABLE, told)
        return tuple(each / total for each in found)

    def _numbers(self, answer: Mapping[str, Any], question: AskedQuestion) -> list[float]:
        if question.is_yes_no:
            yes = _probability(answer[self.yes])
            return [yes if choice == YES_NO[0] else 1 - yes for choice in question.choices]
        told = self.told_in(answer)
        return [_probability(told[choice]) for choice in question.choices]


class SystemOneWire(DecisionWire):
    """System One: of TypeSafe's Jev, vLLM, llama.cpp, SGLang, OpenRouter and others."""

    path = "/systemone"
    yes = "noul"

    def body(self, model: str, state: str, questions: Sequence[AskedQuestion]) -> dict[str, Any]:
        asked = {name_of(number): self._question(each) for number, each in enumerate(questions)}
        return {"model": model, "state": state, "questions": asked}

    def _question(self, question: AskedQuestion) -> dict[str, Any]:
        if question.is_yes_no:
            return {"type": "noul", "instructions": question.text}
        criteria = dict.fromkeys(question.choices)  # each without a description
        return {"type": "choice", "instructions": question.text, "criteria": criteria}

    def answers_in(self, data: Mapping[str, Any]) -> Mapping[str, Any] | None:
        answers = data.get("answers")
        return answers if isinstance(answers, dict) else None

    def told_in(self, answer: Mapping[str, Any]) -> Mapping[Any, Any]:
        told: Mapping[Any, Any] = answer["probabilities"]
        return told


class DecisionsWire(DecisionWire):
    """OpenAI's Decisions, and of those who speak it."""

    path = "/decisions"
    yes = "probability"

    def body(self, model: str, state: str, questions: Sequence[AskedQuestion]) -> dict[str, Any]:
        asked = [self._question(name_of(number), each) for number, each in enumerate(questions)]
        return {"model": model, "input": state, "questions": asked}

    def _question(self, name: str, question: AskedQuestion) -> dict[str, Any]:
        if question.is_yes_no:
            return {"type": "predicate", "name": name, "instructions": question.text}
        choices = [{"value": choice} for choice in question.choices]
        return {"type": "choice", "name": name, "instructions": question.text, "choices": choices}

    def answers_in(self, data: Mapping[str, Any]) -> Mapping[str, Any] | None:
        answers = data.get("answers")
        if not isinstance(answers, list):
            return None
        named = [each for each in answers if isinstance(each, dict) and isinstance(each.get("name"), str)]
        times = Counter(each["name"] for each in named)
        return {each["name"]: each for each in named if times[each["name"]] == 1}

    def told_in(self, answer: Mapping[str, Any]) -> Mapping[Any, Any]:
        return {each["value"]: each["probability"] for each in answer["probabilities"]}


def name_of(number: int) -> str:
    """The name of a request's question of this number."""
    return f"q{number}"


def _probability(told: Any) -> float:
    if isinstance(told, bool) or not isinstance(told, int | float):
        raise TypeError("a probability is a number")
    if not -ROUNDING <= told <= 1 + ROUNDING:
        raise ValueError("a probability is from 0 to 1")
    return min(1.0, max(0.0, told))


SYSTEM_ONE, DECISIONS = SystemOneWire(), DecisionsWire()
