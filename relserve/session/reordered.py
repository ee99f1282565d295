"""A row read with its choices in several orders, so that no choice gains by its place among them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from relserve.call.answer_types import ChoiceAnswer, Grammar
from relserve.call.frame import Frame
from relserve.call.labels import exchanged
from relserve.call.options import WORDS
from relserve.call.place_bias import averaged, orders_of
from relserve.call.relquery import Reply, Sampling, Submission
from relserve.engines.protocol import Engine
from relserve.errors import OptionError
from relserve.session.in_blocks import answered, blocks_of, own_limits
from relserve.session.per_question import PerQuestion, questions_of
from relserve.session.wrapped_engine import WrappedEngine, failure_of, together

MOST_WITH_TURNS = 512  # rows of a block that is asked about in one order, then in the next


class Reordered(WrappedEngine):
    """An engine that asks another one about each prompt in `Sampling.debias` orders; see `Engine`.

    A reply has the averaged probabilities, in the order of the choices as they were given, and the mean of
    the label masses. A prompt of which one read fails has that failure.
    """

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`; the reads of a prompt follow each other, so that finished rows come out."""
        num_reads = submission.sampling.debias
        found: dict[int, list[Reply]] = {}
        reads = list(_reads(submission, own_limits(self._engine)))
        asked = (read.asked(submission) for read in reads)
        async with aclosing(answered(self._engine, asked)) as stream:  # type: ignore[type-var]
            async for number, replies in stream:
                block, numbers = reads[number]
                whole = []
                for reply in replies:
                    row, place = divmod(reply.index, len(numbers))
                    index = block[row]
                    order = _shown(submission, index, numbers[place]).order
                    found.setdefault(index, []).append(_put_back(reply, order))
                    if len(found[index]) == num_reads:
                        whole.append(_averaged(index, found.pop(index)))
                if whole:
                    yield whole


def engine_for(engine: Engine, submission: Submission) -> Engine:
    """What asks an engine as often about each prompt as a submission's sampling wants.

    Raises:
        OptionError: the engine gives no vectors, which the submission wants.
    """
    if submission.sampling.embeds and not getattr(engine, "embeds", False):
        raise OptionError(
            f"llm_embed(): the model {engine.model!r} writes text; leave model out, which takes {WORDS!r}, "
            "or name a server with /v1/embeddings: model := 'URL#NAME'"
        )
    if submission.sampling.debias > 1:
        engine = Reordered(engine)
    return PerQuestion(engine) if submission.sampling.follow_ups else engine


def prompts_a_row(sampling: Sampling) -> int:
    """How many prompts the engine behind `engine_for` gets for each of a submission's."""
    return max(1, len(sampling.follow_ups)) * sampling.debias


def all_asked(submission: Submission) -> Submission:
    """All prompts that the engine behind `engine_for` gets, as one submission: to count them."""
    if submission.sampling.follow_ups:
        submission = questions_of(submission)
    return submission if submission.sampling.debias == 1 else interleaved(submission)


def each_asked(submission: Submission) -> list[Submission]:
    """The same prompts as the engine gets them, but for blocks: of each row as many in each submission."""
    if submission.sampling.follow_ups:
        submission = questions_of(submission)
    if submission.sampling.debias == 1 or not submission.turns:
        return [all_asked(submission)]
    return [in_order(submission, number) for number in range(submission.sampling.debias)]


def interleaved(submission: Submission) -> Submission:
    """Each prompt in all of its orders, one after the other, as one submission; the turns in the first."""
    reads = [in_order(submission, number) for number in range(submission.sampling.debias)]
    ends = dict.fromkeys(end for read in reads for end in read.frame.after)
    return replace(
        reads[0],
        prompts=[prompt for group in zip(*(read.prompts for read in reads), strict=True) for prompt in group],
        sampling=replace(reads[0].sampling, grammar=None),
        grammars=[read.grammar_of(index) for index in range(len(submission.prompts)) for read in reads],
        frame=submission.frame._replace(after=tuple(ends)),
    )


class _Read(NamedTuple):
    """Rows of a submission that are asked about together, and the orders in which each is read then."""

    block: range
    numbers: Sequence[int]

    def asked(self, submission: Submission) -> Submission:
        """These rows of it in these orders."""
        rows = len(submission.prompts) if submission.rows is None else submission.rows
        part = submission.part(self.block, rows)
        return interleaved(part) if len(self.numbers) > 1 else in_order(part, self.numbers[0])


def _reads(submission: Submission, own: tuple[int, ...]) -> Iterator[_Read]:
    """All reads of all rows, those of a row near each other.

    Turns show the choices too, and a submission has one set of them, so there each order is asked alone.

    Args:
        own: see `own_limits`.
    """
    numbers = range(submission.sampling.debias)
    if not submission.turns:
        yield from (_Read(block, numbers) for block in blocks_of(submission.prompts, len(numbers), *own))
        return
    for block in blocks_of(submission.prompts, 1, *(own or (MOST_WITH_TURNS,))):
        yield from (_Read(block, (number,)) for number in numbers)


def in_order(submission: Submission, number: int) -> Submission:
    """The same prompts and examples with the choices of each in one of its orders, to be read once."""
    sampling, rows = submission.sampling, submission.rows
    shown = [_shown(submission, index, number) for index in range(len(submission.prompts))]
    pairs = zip(submission.prompts, shown, strict=True)
    prompts = [exchanged(prompt, each.before, each.now) for prompt, each in pairs]
    rows = (len(prompts) if rows is None else rows) * sampling.debias
    sampling = replace(sampling, debias=1)
    submission = replace(submission, prompts=prompts, rows=rows, frame=_in_frame(submission.frame, shown))
    if submission.grammars is not None:
        return replace(submission, sampling=sampling, grammars=[each.grammar for each in shown])
    one = _shown(submission, 0, number)
    turns = [turn._replace(user=exchanged(turn.user, one.before, one.now)) for turn in submission.turns]
    sampling = replace(sampling, grammar=one.grammar)
    return replace(submission, sampling=sampling, turns=tuple(turns))


class _InOrder(NamedTuple):
    """Choices in one of their orders: as a grammar, and their instruction before and now."""

    order: tuple[int, ...]
    grammar: Grammar
    before: str
    now: str


@lru_cache(maxsize=1024)
def _in_order(grammar: Grammar, num_reads: int, number: int) -> _InOrder:
    order = orders_of(len(grammar.choices), num_reads)[number]
    choices = tuple(grammar.choices[each] for each in order)
    before, now = (ChoiceAnswer(each).instruction for each in (grammar.choices, choices))
    return _InOrder(order, replace(grammar, choices=choices), before, now)


def _shown(submission: Submission, index: int, number: int) -> _InOrder:
    """How one read shows the choices of a prompt."""
    grammar = submission.grammar_of(index)
    assert grammar is not None
    return _in_order(grammar, submission.sampling.debias, number)


def _in_frame(frame: Frame, shown: Sequence[_InOrder]) -> Frame:
    """The frame of prompts, of which some end with an instruction."""
    swaps = {each.before: each.now for each in shown}

    def swapped(text: str) -> str:
        before = next((each for each in swaps if text.endswith(each)), None)
        return text if before is None else text.removesuffix(before) + swaps[before]

    return frame._replace(after=tuple(map(swapped, frame.after)))


def _put_back(reply: Reply, order: Sequence[int]) -> Reply:
    """A reply with its probabilities in the order of the choices as they were given."""
    if reply.probabilities is None:
        return reply
    at = dict(zip(order, reply.probabilities, strict=True))
    return replace(reply, probabilities=tuple(at[number] for number in range(len(order))))


def _averaged(index: int, replies: Sequence[Reply]) -> Reply:
    """The reply to a prompt, of those in each order."""
    whole = together(index, replies)
    failed = [failure for failure in map(failure_of, replies) if failure is not None]
    if failed:
        return replace(whole, text=None, failure=failed[0])
    found = [reply.probabilities for reply in replies if reply.probabilities is not None]
    if len(found) < len(replies):
        return whole
    masses = [reply.label_masses[0] for reply in replies if reply.label_masses is not None]
    mean = (sum(masses) / len(masses),) if len(masses) == len(replies) else None
    return replace(whole, probabilities=averaged(found), label_masses=mean)
