"""The relQuery: the rows of one llm() call as a batch of templated requests with one latency."""

from __future__ import annotations

import hashlib
import itertools
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from relserve.call.answer_types import AnswerType, Grammar
from relserve.call.decisions import Decision, FollowUp, Read
from relserve.call.field_order import free_rows
from relserve.call.frame import Frame
from relserve.call.options import FUNCTIONS, Options
from relserve.call.rel_tag import RelTag, WorkflowStep
from relserve.call.slo import Slo
from relserve.call.standing import Standing
from relserve.call.template import BoundTemplate
from relserve.call.turns import ChatTurn, turns_of
from relserve.call.vectors import Vector
from relserve.call.verbatim import quotes, row_grammars
from relserve.errors import Failure

P = TypeVar("P", str, str | None)  # a prompt

_numbers = itertools.count(1)
_process = secrets.token_hex(3)  # in containers, whose clients may share a server, pids are alike


def new_rel_id() -> str:
    """An id for a relQuery, unique among all clients of a server."""
    return f"rel-{os.getpid()}-{_process}-{next(_numbers)}"


@dataclass(frozen=True)
class CallSite:
    """An llm call without its rows.

    Attributes:
        function: a name of `FUNCTIONS`.
        binding: the template and which value each placeholder takes.
        options: checked options.
    """

    function: str
    binding: BoundTemplate
    options: Options = Options()

    @cached_property
    def answer_type(self) -> AnswerType:
        """The type of the answers."""
        return FUNCTIONS[self.function].answer_type(self.options)

    @cached_property
    def sampling(self) -> Sampling:
        """How the engine is to decode every answer."""
        return sampling_of(self.function, self.options)

    @cached_property
    def kind(self) -> str:
        """What is the same for calls whose answers have lengths of one distribution; see `RelTag`.

        A hash of the function, the template and the options that shape answers; the model is not in it.
        """
        sure = None if self.options.min_confidence is None else 0.0
        shaping = replace(
            self.options, model=None, on_error="null", seed=None, field_order="given", min_confidence=sure,
            deadline=None, slo=None, calibration=None, max_rows=None, max_tokens_total=None, max_cost=None,
            cascade=None, precision=None, recall=None, accuracy=None, error=None, confidence=None,
            join="pairs",
        )  # fmt: skip
        text = repr((self.function, self.binding.template.text, shaping)).encode(errors="surrogatepass")
        return hashlib.sha256(text).hexdigest()[:16]

    @cached_property
    def turns(self) -> tuple[ChatTurn, ...]:
        """The examples, as turns before each row's own; raises as `turns_of` does."""
        return turns_of(self.binding.template, self.answer_type, self.options.examples)

    def prompts(self, rows: Sequence[Sequence[Any]]) -> list[str | None]:
        """The user message of each row of values, in order; None where a NULL makes the answer NULL."""
        free = self.options.field_order == "free"
        rows = free_rows(rows, self.binding.used) if free else rows
        return self.messages(list(map(self.binding.render, rows)))

    def messages(self, rendered: Sequence[P]) -> list[P]:
        """The user messages of rows that the binding has rendered; None stays None."""
        lead = self.answer_type.instruction
        if not lead:
            return list(rendered)
        return [prompt if prompt is None else f"{lead}\n{prompt}" for prompt in rendered]

    @cached_property
    def hangs_on_values(self) -> bool:
        """Whether what is asked hangs on the values of all rows, and not on what each one renders to."""
        by_values = self.options.field_order == "free" or self.options.join != "pairs"
        return FUNCTIONS[self.function].aggregate or by_values or self.quotes

    @property
    def quotes(self) -> bool:
        """Whether answers have to stand in the values of their rows."""
        return quotes(self.answer_type)

    def grammars(self, rows: Sequence[Sequence[Any]]) -> list[Grammar | None] | None:
        """What the reply to each row must match, where that hangs on its values; None where it does not."""
        return row_grammars(self.answer_type, self.binding.used, rows)


@dataclass(frozen=True)
class RelQuery:
    """One call site's inputs.

    Attributes:
        function: a name of `FUNCTIONS`.
        binding: the template and which value each placeholder takes.
        rows: one sequence of values a row, in input order.
        options: checked options.
        multiplicity: how many table rows each of `rows` stands for; None when each is one row.
        grammars: of each row's answer; see `OpenRelQuery.ask`.
    """

    function: str
    binding: BoundTemplate
    rows: Sequence[Sequence[Any]]
    options: Options = Options()
    multiplicity: Sequence[int] | None = None
    grammars: Sequence[Grammar | None] | None = None
    rel_id: str = field(default_factory=new_rel_id)

    @cached_property
    def site(self) -> CallSite:
        """The call without its rows."""
        return CallSite(self.function, self.binding, self.options)

    def prompts(self) -> list[str | None]:
        """The user message of each row, in input order; None where a NULL makes the answer NULL."""
        return self.site.prompts(self.rows)


@dataclass(frozen=True)
class Sampling:
    """How the engine decodes every request of a relQuery."""

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    grammar: Grammar | None = None
    with_confidence: bool = False  # replies are to tell their probability
    sure_at: float = 1.0  # from which on the probability may be told as less than it is, but not below this
    thinking: int = 0  # most tokens of thoughts, which come before the answer and do not count for max_tokens
    read: Read | None = None  # replies are to tell the probabilities of all choices of the grammar, read so
    follow_ups: tuple[FollowUp, ...] = ()  # asked after each prompt in its place; see `PerQuestion`
    debias: int = 1  # each prompt is asked with the choices in so many orders; see `Reordered`
    embeds: bool = False  # replies are to be vectors; see `Vector`
    label_mass: bool = False  # replies are to tell `Reply.label_masses`

    @property
    def output_cap(self) -> int:
        """The most tokens of one answer and its thoughts, as far as can be known without the tokenizer."""
        return self.thinking + self.answer_cap

    @property
    def answer_cap(self) -> int:
        """The most tokens of one answer alone.

        A choice has no more tokens than bytes, and an end.
        """
        if self.grammar is not None and self.grammar.choices:
            return min(self.max_tokens, self.grammar.max_bytes + 1)
        return self.max_tokens

    @cached_property
    def likely(self) -> int | None:
        """The most tokens of one answer as far as its type tells: no more than bytes; see `RelTag`."""
        return self.likely_by(lambda texts: [len(text.encode(errors="replace")) for text in texts])

    def likely_by(self, num_tokens: Callable[[Sequence[str]], Sequence[int]]) -> int | None:
        """The same by a tokenizer; None for what has no bound but its cap, as thoughts before an answer."""
        if self.grammar is None or self.thinking:
            return None
        longest = self.grammar.most_tokens(num_tokens)
        return None if longest is None else min(self.answer_cap, longest)


def sampling_of(function: str, options: Options) -> Sampling:
    """How the engine decodes the answers of a function under these options."""
    kind, least = FUNCTIONS[function].answer_type(options), options.min_confidence
    return Sampling(
        options.max_tokens or kind.default_max_tokens, options.temperature, options.top_p,
        options.seed, options.stop, kind.grammar, least is not None, 1.0 if least is None else least,
        options.thinking, options.read if isinstance(kind, Decision) else None,
        kind.follow_ups if isinstance(kind, Decision) else (), options.debias, isinstance(kind, Vector),
        options.label_mass,
    )  # fmt: skip


@dataclass(frozen=True)
class Submission:
    """What the session hands to an engine: distinct prompts of one relQuery, all that are to be asked now.

    Attributes:
        rows: rows that the whole relQuery will send, over all of its rounds; None: these prompts only.
        workflow_id, stage, deadline_s, kind: see `RelTag`.
        slo: limits of each row's tokens; None: none.
        grammars: of each prompt's reply, where it has one of its own, in place of the sampling's.
        user: whose share of the engine it counts against; None: the user of the process.
        cache_salt: kept answers and computed prompts serve it only if they were asked with the same one.
        dispatch: of the latest dispatch in it, where a fleet's router sent it; see `Report.seen`.
        trace: headers of W3C's trace context, for spans below the one in which it was asked; None: no traces.
        frame: what in the prompts is the question, where a server is told it apart from the state.
        turns: of a chat before each prompt: examples of what is asked and answered.
        labels: by which the prompts name the choices, where an engine reads these; see `Labels`.
        own_labels: of each prompt, in place of `labels`, where the prompts have grammars of their own.
        told: told now and then, from any thread of this process, where it stands while rows wait.
        may_send: what servers' engines await before each prompt: "" once it may go, or why not.
    """

    rel_id: str
    prompts: Sequence[str]
    sampling: Sampling
    system: str | None = None
    rows: int | None = None
    workflow_id: str | None = None
    stage: str | None = None
    deadline_s: float | None = None
    kind: str | None = None
    grammars: Sequence[Grammar | None] | None = None
    slo: Slo | None = None
    user: str | None = None
    cache_salt: str | None = None
    dispatch: int | None = None
    trace: Mapping[str, str] | None = None
    frame: Frame = field(default_factory=Frame)
    told: Callable[[Standing], None] | None = field(default=None, compare=False, repr=False)
    turns: tuple[ChatTurn, ...] = ()
    labels: tuple[str, ...] = ()
    own_labels: Sequence[tuple[str, ...]] | None = None
    may_send: Callable[[str], Awaitable[str]] | None = field(default=None, compare=False, repr=False)

    @property
    def lead(self) -> str:
        """What stands before each prompt, as one text: the system message and the turns."""
        texts = [self.system or "", *(text for turn in self.turns for text in turn)]
        return "".join(f"{text}\n" for text in texts if text)

    @property
    def has_grammars(self) -> bool:
        """Whether a reply must match one."""
        return self.sampling.grammar is not None or self.grammars is not None

    def grammar_of(self, index: int) -> Grammar | None:
        """What the reply to a prompt must match."""
        own = None if self.grammars is None else self.grammars[index]
        return self.sampling.grammar if own is None else own

    def as_for(self, index: int) -> Submission:
        """The submission with the grammar and the labels of one prompt as those of all."""
        if self.grammars is None and self.own_labels is None:
            return self
        sampling = replace(self.sampling, grammar=self.grammar_of(index))
        labels = self.labels if self.own_labels is None else self.own_labels[index]
        return replace(self, sampling=sampling, labels=labels, grammars=None, own_labels=None)

    def part(self, indices: Sequence[int], rows: int | None) -> Submission:
        """Some of its prompts, in this order, as a submission; `rows` as of the attribute."""
        own, labels = self.grammars, self.own_labels
        return replace(
            self, prompts=[self.prompts[i] for i in indices], rows=rows,
            grammars=None if own is None else [own[i] for i in indices],
            own_labels=None if labels is None else [labels[i] for i in indices],
        )  # fmt: skip

    def as_step(self, step: WorkflowStep) -> Submission:
        """The submission in its place in a workflow, as of now."""
        return replace(self, workflow_id=step.workflow_id, stage=step.stage, deadline_s=step.deadline_s)

    def tag(self, num_answered: int = 0, output_cap: int | None = None, likely: int | None = None) -> RelTag:
        """What the engine's scheduler is told with each request.

        Args:
            num_answered: prompts that an engine before this one has answered.
            output_cap, likely: of one answer, where the tokenizer tells better than `Sampling`.
        """
        rows = (len(self.prompts) if self.rows is None else self.rows) - num_answered
        cap = self.sampling.output_cap if output_cap is None else output_cap
        likely = self.sampling.likely if likely is None else likely
        likely = None if likely is None else min(likely, cap)
        return RelTag(
            self.rel_id, rows, cap, self.workflow_id, self.stage, self.deadline_s, self.kind, likely,
            slo=self.slo, dispatch=self.dispatch,
        )  # fmt: skip


class Usage(NamedTuple):
    """Tokens of a row: of the prompt, found in the prefix cache, of the reply, and thoughts among these."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    thought_tokens: int = 0

    @classmethod
    def total(cls, usages: Iterable[Usage]) -> Usage:
        """Those of some rows together."""
        return cls(*map(sum, zip(cls(), *usages, strict=True)))


class RowTimes(NamedTuple):
    """When things happened to one request, in seconds of the engine's monotonic clock."""

    queued_s: float
    scheduled_s: float
    first_token_s: float
    last_token_s: float
    preemptions: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """An engine's reply to `prompts[index]` of a submission: its text, or why there is none.

    `confidence` is the probability that the model gave to the text, where it was asked for and the engine
    tells it: of a choice in proportion to that of all choices, over all their spellings, at temperature 1.
    `probabilities` are those of all choices of the grammar, in their order, where `Sampling.read` asks for
    them and the engine tells them; the text is then the most probable choice, or its label.
    `label_masses`: of each question, the probability of all labels together among all that the model might
    have begun its reply with, where `Sampling.label_mass` asks for it; NaN or None where it is not known.
    `cut`: max_tokens ended it. Thoughts are no part of the text.
    `is_counted`: caps have counted the row before: it waits in a batch, or its answer was taken from one.
    `is_unsent`: the row was refused before any model was asked about it, so caps do not count it.
    """

    index: int
    text: str | None
    failure: Failure | None = None
    usage: Usage = Usage()
    times: RowTimes | None = None
    confidence: float | None = None
    cut: bool = False
    probabilities: tuple[float, ...] | None = None
    is_counted: bool = False
    label_masses: tuple[float, ...] | None = None
    is_unsent: bool = False
