"""One round of a relQuery: distinct prompts, answered from what is known, kept on disk, or by the engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, MutableMapping

from relserve.call.answer_types import Answer, judge_cut
from relserve.call.relquery import CallSite, Reply, RowTimes, Submission, phases_of
from relserve.engines.protocol import Engine
from relserve.errors import EngineError, Failure, FailureKind, RowError
from relserve.session.cached_answers import CachedAnswers
from relserve.session.folding import FoldedRows
from relserve.session.pending_replies import PendingReplies
from relserve.session.progress import Progress
from relserve.session.recorder import Recorder

UNASKED = Answer(None)  # stands for an answer that was not waited for

Enough = Callable[[list[Answer | None]], bool]  # by distinct prompt of a round; None: no answer yet


class Round:
    """The distinct prompts of one round on their way to answers.

    Args:
        known: answers of the relQuery's earlier rounds, by prompt; those of this round are added. None: no
            later round wants them.
        cached: what the answer cache has of the distinct prompts.
        enough: says when the answers that have come will do.

    Attributes:
        answers: of each distinct prompt; None: not there yet.
        num_over_context: prompts that did not reach the engine's scheduler, being over the context.
    """

    def __init__(
        self,
        site: CallSite,
        engine: Engine,
        folded: FoldedRows,
        known: MutableMapping[str, Answer] | None,
        cached: CachedAnswers,
        recorder: Recorder,
        cancel: threading.Event,
        progress: Progress | None,
        enough: Enough | None,
    ) -> None:
        self.site, self.engine, self.folded, self.known = site, engine, folded, known
        self.cached, self.recorder = cached, recorder
        self.cancel, self.progress, self.enough = cancel, progress, enough
        self._kind, self._is_judged = site.answer_type, site.options.min_confidence is not None
        self.answers: list[Answer | None] = (
            [known.get(prompt) for prompt in folded.prompts] if known else [None] * len(folded.prompts)
        )
        self.num_over_context = 0
        self._sent: list[int] = []  # prompts for the engine, by their numbers among the distinct ones
        self._times: list[RowTimes] = []

    @property
    def todo(self) -> list[int]:
        """The prompts without an answer, by their numbers among the distinct ones."""
        return [number for number, answer in enumerate(self.answers) if answer is None]

    def take_known(self) -> None:
        """Put the rows on record whose prompts an earlier round answered.

        Raises:
            RowError: one of them failed, and on_error is 'raise'.
        """
        for number, answer in enumerate(self.answers):
            if answer is not None:
                self.recorder.take_known(self.folded.num_rows_of[number])
                self._see_failure(number, answer)

    def take_cached(self) -> None:
        """Take what the answer cache has."""
        found: list[tuple[int, Reply, Answer]] = []
        for reply in self.cached.find(self.cancel):
            answer = self._parsed(reply)
            if self.answers[reply.index] is None and answer.failure is None:
                found.append((reply.index, reply, answer))
        if found:
            self._take(found, is_cached=True)
            self._show()

    def ask(self, submission: Submission, sent: list[int]) -> None:
        """Take the engine's replies until each prompt has its answer, or enough have.

        Args:
            sent: the submission's prompts, by their numbers among the distinct ones.

        Raises: as `OpenRelQuery.ask`.
        """
        self._sent, pending = sent, PendingReplies(self.engine, submission)
        try:
            while (replies := pending.next_batch(self.cancel)) is not None:
                self.cached.confirm(self.cancel)
                self._take(self._kept(replies), is_cached=False)
                self._show()
                if self.suffices():
                    pending.cancel()
                    self._keep_rest(pending)
                    return
        except BaseException:
            pending.cancel()
            self._keep_rest(pending)
            raise
        finally:
            self.recorder.add_phases(phases_of(self._times))

    def suffices(self) -> bool:
        """Whether the answers that are there will do; then the others are UNASKED."""
        if self.enough is None or None not in self.answers or not self.enough(self.answers):
            return False
        self.answers = [UNASKED if each is None else each for each in self.answers]
        return True

    def _take(self, made: list[tuple[int, Reply, Answer]], is_cached: bool) -> None:
        """Put a batch of replies on record."""
        num_rows = sum(self.folded.num_rows_of[number] for number, _, _ in made)
        self.recorder.take(num_rows, [reply for _, reply, _ in made], is_cached)
        for number, reply, answer in made:
            self.answers[number] = answer
            if reply.times is not None:
                self._times.append(reply.times)
            if self.known is not None:
                self.known[self.folded.prompts[number]] = answer
            if answer.failure is not None:
                self.num_over_context += answer.failure.kind is FailureKind.OVER_CONTEXT
                self._see_failure(number, answer)

    def _see_failure(self, number: int, answer: Answer) -> None:
        failure = answer.failure
        if failure is None:
            return
        if failure.kind is FailureKind.OVER_CONTEXT and number in self.folded.may_split:
            return
        prompt = self.folded.prompts[number]
        self.recorder.fail(prompt, self.folded.num_rows_of[number], answer)
        if self.site.options.on_error == "raise":
            raise RowError(f"{self.site.function}(): {failure.message}; the prompt begins {prompt[:80]!r}")

    def _show(self) -> None:
        if self.progress is not None:
            self.progress(self.recorder.record)

    def _kept(self, replies: list[Reply]) -> list[tuple[int, Reply, Answer]]:
        """Put good replies into the cache, before any of them can fail the query; gives all with answers."""
        made = [(self._sent[reply.index], reply, self._parsed(reply)) for reply in replies]
        if self.cached.keeps:
            self.cached.keep((number, reply) for number, reply, answer in made if answer.failure is None)
        return made

    def _keep_rest(self, pending: PendingReplies) -> None:
        """Put into the cache what came in time, so that the next query need not ask it again."""
        for replies in pending.already_here():
            self._kept(replies)

    def _parsed(self, reply: Reply) -> Answer:
        """The answer that a reply is."""
        if reply.failure is not None or reply.text is None:
            return Answer(None, reply.failure or Failure(FailureKind.ENGINE, "no reply"))
        answer = self._kind.parse(reply.text)
        if reply.cut:
            answer = judge_cut(answer, reply.text, self._kind.grammar)
        return self._if_sure(answer, reply.confidence) if self._is_judged else answer

    def _if_sure(self, answer: Answer, confidence: float | None) -> Answer:
        """The answer, or a failure where the model gave it a probability below min_confidence.

        Raises:
            EngineError: the engine tells no probabilities.
        """
        least = self.site.options.min_confidence
        if least is None or answer.failure is not None:
            return answer
        if confidence is None:
            raise EngineError(
                f"{self.site.function}() has min_confidence, but {self.engine.model} tells no "
                "probabilities of its answers; leave min_confidence out or name another model"
            )
        if confidence >= least:
            return answer
        said = f"the model gave {answer.value!r} a probability of {confidence:.4g}, "
        said += f"min_confidence is {least:g}"
        return Answer(None, Failure(FailureKind.LOW_CONFIDENCE, said))
