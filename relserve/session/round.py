"""One round of a relQuery: distinct prompts, answered from what is known, kept on disk, or by the engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from contextlib import suppress
from itertools import compress
from typing import NamedTuple

from relserve.call.answer_types import Answer
from relserve.call.phases import phases_of
from relserve.call.relquery import CallSite, Reply, RowTimes, Submission, Usage
from relserve.engines.protocol import Engine
from relserve.errors import Cancelled, Failure, FailureKind, RowError
from relserve.session.cached_answers import CachedAnswers
from relserve.session.folding import FoldedRows, Grammars, Key
from relserve.session.likely_spending import size_of
from relserve.session.pending_replies import PendingReplies
from relserve.session.progress import Progress
from relserve.session.recorder import Recorder
from relserve.session.reordered import engine_for
from relserve.session.reply_reader import Correction, ReplyReader

UNASKED = Answer(None)  # stands for an answer that was not waited for

Enough = Callable[[list[Answer | None]], bool]  # by distinct prompt of a round; None: no answer yet


class Watch(NamedTuple):
    """What the caller of a round says and is told while it is under way; see `OpenRelQuery.ask`."""

    cancel: threading.Event
    progress: Progress | None
    enough: Enough | None


class ReadReplies(NamedTuple):
    """Replies, the answers that they are, and the numbers of their prompts among the distinct ones.

    In columns: a tuple a reply would have Python's collector look at everything half as often again.
    """

    numbers: Sequence[int]
    replies: Sequence[Reply]
    answers: Sequence[Answer]


class Round:
    """The distinct prompts of one round on their way to answers.

    Args:
        known: answers of the relQuery's earlier rounds, by `FoldedRows.keys`; those of this round are added.
            None where the relQuery does not remember.
        cached: what the answer cache has of the distinct prompts.
        correction: see `ReplyReader`.
        capped: the engine, which sends what the caps on spending allow.

    Attributes:
        answers: of each distinct prompt; None: not there yet.
        todo: the prompts without an answer, by their numbers among the distinct ones; ask them in this order.
        num_over_context: prompts that did not reach the engine's scheduler, being over the context.
        num_cached: prompts whose answer the answer cache had.
        num_failed_rows: table rows that failed.
    """

    def __init__(
        self,
        site: CallSite,
        engine: Engine,
        folded: FoldedRows,
        known: MutableMapping[Key, Answer] | None,
        cached: CachedAnswers,
        recorder: Recorder,
        watch: Watch,
        is_whole: Callable[[str], bool] | None = None,
        correction: Correction | None = None,
        capped: Callable[[Engine], Engine] = lambda engine: engine,
    ) -> None:
        self._site, self._folded, self._known = site, folded, known
        self._engine, self._capped = engine, capped
        self._cached, self._recorder, self._watch = cached, recorder, watch
        self._reader = ReplyReader(site, engine.model, is_whole, correction)
        self._keys = folded.keys
        self.answers: list[Answer | None] = [None] * len(folded.prompts)
        if known:
            self.answers = [known.get(key) for key in self._keys]
        self.todo = self._unanswered()
        self.num_over_context = self.num_cached = self.num_failed_rows = 0
        self._times: list[RowTimes] = []

    def take_known(self) -> None:
        """Put the rows on record whose prompts an earlier round answered.

        Raises:
            RowError: one of them failed, and on_error is 'raise'.
        """
        known = [(number, answer) for number, answer in enumerate(self.answers) if answer is not None]
        self._recorder.add_replies(0, 0, self._num_rows(number for number, _ in known), Usage())
        self._record_failures(known)

    def take_cached(self) -> None:
        """Take what the answer cache has."""
        numbers, answers = self._find() if self.todo else ((), ())
        is_good = [
            answer.failure is None and self.answers[number] is None
            for number, answer in zip(numbers, answers, strict=True)
        ]
        numbers, answers = list(compress(numbers, is_good)), list(compress(answers, is_good))
        if numbers:
            self.num_cached = len(numbers)
            self._put(numbers, answers, Usage(), self.num_cached)
            self._recorder.saw((), answers)
            self.todo = self._unanswered()
            self._show()

    def ask(self, submission: Submission, ends_s: float | None) -> None:
        """Take the engine's replies to the prompts in `todo` until each has its answer, or enough have.

        Args:
            ends_s: the deadline on the monotonic clock; None: there is none.

        Raises: as `OpenRelQuery.ask`.
        """
        engine, lead = engine_for(self._capped(self._engine), submission), size_of(submission.lead)
        pending = PendingReplies(engine, submission, ends_s, self._recorder.stands)
        try:
            while (replies := pending.next_batch(self._watch.cancel)) is not None:
                if not replies:  # it was told where it stands
                    self._show()
                    continue
                sent = [reply for reply in replies if reply.failure is None or any(reply.usage)]
                sizes = (size_of(submission.prompts[reply.index]) + lead for reply in sent)
                self._recorder.spent(sent, sum(sizes))
                self._cached.confirm(self._watch.cancel)
                self._take(self._kept(replies))
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
            self._recorder.add_phases(phases_of(self._times))

    def suffices(self) -> bool:
        """Whether the answers that are there will do; then the others are UNASKED."""
        enough = self._watch.enough
        if enough is None or None not in self.answers or not enough(self.answers):
            return False
        self.answers = [UNASKED if each is None else each for each in self.answers]
        return True

    def _unanswered(self) -> list[int]:
        return [number for number, answer in enumerate(self.answers) if answer is None]

    def _find(self) -> tuple[Sequence[int], Sequence[Answer]]:
        """What the answer cache has, by the prompts' numbers."""
        if self._cached.has_probabilities:
            found = self._cached.find(self._watch.cancel)
            read = self._read([reply.index for reply in found], found)
            return read.numbers, read.answers
        # A reply for each text would take as long as all else here.
        numbers, texts = self._cached.find_texts(self._watch.cancel)
        return numbers, self._reader.read_texts(texts, self._own_grammars(numbers))

    def _take(self, read: ReadReplies) -> None:
        """Put the answers of a batch of replies in their places and on record."""
        self._times += [reply.times for reply in read.replies if reply.times is not None]
        usage = Usage.total(reply.usage for reply in read.replies)
        self._put(read.numbers, read.answers, usage)
        self._recorder.saw(read.replies, read.answers)
        both = zip(read.numbers, read.answers, strict=True)
        if failed := [(number, answer) for number, answer in both if answer.failure is not None]:
            self.num_over_context += sum(_is_over_context(answer) for _, answer in failed)
            self._record_failures(failed)

    def _put(
        self, numbers: Sequence[int], answers: Sequence[Answer], usage: Usage, num_cached: int = 0
    ) -> None:
        for number, answer in zip(numbers, answers, strict=True):
            self.answers[number] = answer
        if self._known is not None:
            self._known.update(zip(map(self._keys.__getitem__, numbers), answers, strict=True))
        self._recorder.add_replies(len(numbers), num_cached, self._num_rows(numbers), usage)

    def _num_rows(self, numbers: Iterable[int]) -> int:
        return sum(map(self._folded.num_rows_of.__getitem__, numbers))

    def _record_failures(self, answers: Iterable[tuple[int, Answer]]) -> None:
        """Put those of the answers on record that are failures.

        Raises:
            RowError: one is, and on_error is 'raise'.
        """
        for number, answer in answers:
            failure, prompt = answer.failure, self._folded.prompts[number]
            may_split = _is_over_context(answer) and number in self._folded.may_split
            if failure is None or may_split or self._folded.asks_again:
                continue
            self.num_failed_rows += self._folded.num_rows_of[number]
            self._recorder.fail(prompt, self._folded.num_rows_of[number], failure)
            if self._site.options.on_error == "raise":
                raise failed_row(self._site, prompt, failure)

    def _show(self) -> None:
        if self._watch.progress is not None:
            self._watch.progress(self._recorder.record)

    def _kept(self, replies: list[Reply]) -> ReadReplies:
        """Put good replies into the cache, before any of them can fail the query; gives all with answers."""
        read = self._read([self.todo[reply.index] for reply in replies], replies)
        if self._cached.keeps:
            good = self._good(read)
            self._cached.keep(zip(good.numbers, good.replies, strict=True))
        return read

    def _read(self, numbers: Sequence[int], replies: Sequence[Reply]) -> ReadReplies:
        """The answers that replies are, each to the prompt of this number."""
        answers = self._reader.read_all(replies, self._own_grammars(numbers))
        return ReadReplies(numbers, replies, answers)

    def _own_grammars(self, numbers: Sequence[int]) -> Grammars | None:
        own = self._folded.grammars
        return None if own is None else [own[number] for number in numbers]

    @staticmethod
    def _good(read: ReadReplies) -> ReadReplies:
        """Those that are no failures."""
        is_good = [answer.failure is None for answer in read.answers]
        numbers, replies = compress(read.numbers, is_good), compress(read.replies, is_good)
        return ReadReplies(list(numbers), list(replies), list(compress(read.answers, is_good)))

    def _keep_rest(self, pending: PendingReplies) -> None:
        """Put into the cache what came in time, so that the next query need not ask it again."""
        rest = list(filter(None, pending.already_here()))
        if rest:  # it may be the first of all
            with suppress(Cancelled):
                self._cached.confirm(self._watch.cancel)
        for replies in rest:
            self._kept(replies)


def failed_row(site: CallSite, prompt: str, failure: Failure) -> RowError:
    """The error of a failed row where on_error is 'raise'."""
    return RowError(f"{site.function}(): {failure.message}; the prompt begins {prompt[:80]!r}")


def _is_over_context(answer: Answer) -> bool:
    return answer.failure is not None and answer.failure.kind is FailureKind.OVER_CONTEXT
