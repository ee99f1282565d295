"""From an engine's reply to the answer that it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import NamedTuple

from relserve.call.answer_types import Answer, Grammar, judge_cut
from relserve.call.decided import Decided
from relserve.call.decisions import Decision
from relserve.call.relquery import CallSite, Reply
from relserve.call.verbatim import stands_in
from relserve.errors import EngineError, Failure, FailureKind
from relserve.evaluation.calibrators import Calibrator
from relserve.session.folding import Grammars

Probabilities = tuple[float, ...] | Failure


class Correction(NamedTuple):
    """What is done to the probabilities of a call's choices: first the prior is taken out.

    Attributes:
        prior: a failure fails all rows; None: there is nothing to take out.
        calibrator: None: none applies.
    """

    prior: Probabilities | None = None
    calibrator: Calibrator | None = None

    def of(self, kind: Decision, found: tuple[float, ...]) -> Probabilities:
        """The corrected probabilities, or why there are none."""
        if isinstance(self.prior, Failure):
            return self.prior
        if self.prior is not None:
            found = kind.without(self.prior, found)
        return found if self.calibrator is None else self.calibrator.calibrated(found)


class ReplyReader:
    """Reads the replies to one call.

    Args:
        model: the name of the model that replies, for messages.
        is_whole: see `Session.open`.
        correction: of the probabilities of choices; None: they are as the model told them.
    """

    def __init__(
        self,
        site: CallSite,
        model: str,
        is_whole: Callable[[str], bool] | None = None,
        correction: Correction | None = None,
    ) -> None:
        self._is_whole, self._correction = is_whole, correction or Correction()
        self._function, self._kind, self._model = site.function, site.answer_type, model
        self._min_confidence = site.options.min_confidence

    def read_all(self, replies: Sequence[Reply], grammars: Grammars | None = None) -> list[Answer]:
        """The answers, or the failures, that replies are.

        Args:
            grammars: of the replies that have one of their own; None: of none.

        Raises:
            EngineError: the call has min_confidence, and the engine tells no probabilities.
        """
        if grammars is None:
            return list(map(self._read, replies))
        return list(map(self._read, replies, grammars))

    def read_texts(self, texts: Sequence[str], grammars: Grammars | None = None) -> list[Answer]:
        """As `read_all`, of whole texts of whose probabilities nothing is asked."""
        if grammars is None and self._kind.grammar is None:
            return list(map(self._kind.parse, texts))
        return list(map(self._read, map(Reply, repeat(0), texts), grammars or repeat(None)))

    def _read(self, reply: Reply, grammar: Grammar | None = None) -> Answer:
        if isinstance(self._kind, Decision):
            return self._weighed(self._kind, reply)
        if reply.failure is not None or reply.text is None:
            return Answer(None, reply.failure or Failure(FailureKind.ENGINE, "no reply"))
        answer = self._kind.parse(reply.text)
        grammar = grammar or self._kind.grammar
        if reply.cut:
            answer = judge_cut(answer, reply.text, grammar, self._is_whole)
        if grammar is not None and grammar.source is not None:  # whether or not the engine was held to it
            answer = stands_in(self._kind, answer, grammar.source)
        least = self._min_confidence
        if least is None or answer.failure is not None:
            return answer
        return self._if_sure(answer, reply.confidence, least)

    def _weighed(self, kind: Decision, reply: Reply) -> Answer:
        """What the probabilities of the choices make, or a failure where there are none."""
        found = probabilities_of(reply, self._model)
        if isinstance(kind, Decided) and reply.probabilities is not None:
            found = reply.probabilities  # some questions may have failed, and have their failure on record
        if not isinstance(found, Failure):
            found = self._correction.of(kind, found)
        if isinstance(found, Failure):
            return Answer(None, found)
        value = kind.value_of(found, reply.label_masses or ())
        return Answer(value, reply.failure, sureness=kind.sureness(found))

    def _if_sure(self, answer: Answer, confidence: float | None, least: float) -> Answer:
        """The answer, or a failure where the model gave it a smaller probability than `least`."""
        if confidence is None:
            raise EngineError(
                f"{self._function}() has min_confidence, but {self._model} tells no "
                "probabilities of its answers; leave min_confidence out or name another model"
            )
        if confidence >= least:
            return answer._replace(confidence=confidence)
        said = (
            f"the model gave {answer.value!r} a probability of {confidence:.4g}, min_confidence is {least:g}"
        )
        return Answer(None, Failure(FailureKind.LOW_CONFIDENCE, said))


def probabilities_of(reply: Reply, model: str) -> Probabilities:
    """Those of all choices in a reply of a model by this name, or why there are none."""
    if reply.failure is not None or reply.text is None:
        return reply.failure or Failure(FailureKind.ENGINE, "no reply")
    if reply.probabilities is None:
        told = f"{model} tells no probabilities of the choices; name another model"
        return Failure(FailureKind.REFUSED, told)
    return reply.probabilities
