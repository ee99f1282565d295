"""What a relQuery would cost, told before anything is asked: tokens, the prefix cache's share, seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import NamedTuple

from relserve.cache.kept_pace import KeptPace
from relserve.call.prefix_share import BLOCK, prefix_share
from relserve.call.relquery import Submission
from relserve.call.token_counts import CHARS_A_TOKEN
from relserve.engines.protocol import Encoder, Engine, Estimable
from relserve.policies.model.linear import CostModel
from relserve.session.history import History, QueryRecord, engine_seconds
from relserve.session.likely_spending import LikelySpending, SpendingBasis
from relserve.session.prompt_price import (
    ExpectedWork,
    LikelyOutput,
    expected_output,
    learnt_output,
    slopes_s,
)
from relserve.session.reordered import all_asked, prompts_a_row

SAMPLE = 2_000  # prompts tokenised; of more, every k-th
SAMPLE_CHARS = 4_000_000
MAX_EVIDENCE = 5  # earlier relQueries that tell the pace: the largest
NEAR = 10.0  # an earlier process's relQuery of so many times the tokens, or less, tells before step times do
MIN_EVIDENCE = 0.02  # of the tokens to come; a relQuery of a few rows says little about one of thousands
NUM_SEQS, STEP_TOKENS = 128, 2048  # rows and tokens of a step that vLLM sets where the user does not


@dataclass(frozen=True)
class Estimate:
    """What one relQuery would ask.

    Attributes:
        num_distinct: distinct prompts; NULL rows have none.
        num_cached: of them, answered already and kept; None where none are ever kept.
        prompt_tokens: of the prompts to be sent.
        is_counted: every prompt was counted by the model's tokenizer; else `prompt_tokens` is an estimate.
        shared: share of the prompt tokens that the prefix cache should serve, 0 to 1.
        max_output_tokens: tokens if every answer is as long as it may be.
        seconds: from asking to the last answer, without the start of an engine; None: nothing to tell by.
        basis: what `seconds` rests on, or why it is None.
        likely: the tokens and the money that it will likely take; None: nothing was looked for.
        asked: what a cascade likely asks of its large model, whose numbers the others are; None: it is none.
    """

    function: str
    template: str
    model: str
    num_rows: int
    num_null: int
    num_distinct: int
    num_cached: int | None
    prompt_tokens: int
    is_counted: bool
    shared: float
    max_output_tokens: int
    seconds: float | None
    basis: str
    likely: LikelySpending | None = None
    asked: LikelyAsked | None = None


class LikelyAsked(NamedTuple):
    """Prompts that a cascade's large model likely answers, of how many, and what tells so."""

    num: int
    num_all: int
    basis: str


class Sizes(NamedTuple):
    """Of a submission: tokens of a mean prompt, whether counted, the shared part; tokens of an answer.

    A model may spell an answer from a list in smaller tokens than likely, but in no more than it has bytes.
    """

    prompt_tokens: float
    is_counted: bool
    shared: float
    max_output: int
    likely_output: int


class TimeEstimate(NamedTuple):
    """Predicted seconds and what they rest on."""

    seconds: float | None
    basis: str


def estimate(
    engine: Engine,
    submission: Submission,
    record: QueryRecord,
    history: History,
    num_cached: int | None,
    kept: Sequence[KeptPace] = (),
    spending: SpendingBasis | None = None,
) -> Estimate:
    """What a relQuery that was not submitted would cost; starts no engine.

    Args:
        submission: its rows, as the call asks about them; several prompts may be sent for each.
        record: its record, as it is before the first reply.
        history: of earlier relQueries, for their pace.
        num_cached: how many of its rows have an answer that is kept; None: none is ever kept.
        kept: what the model's relQueries took in earlier processes.
        spending: what tokens and money are told by; None: they are not.
    """
    local = engine if isinstance(engine, Estimable) else None
    sizes = (
        measure(submission, local.find_encoder(), local.block_size) if local else measure(submission, None)
    )
    times = prompts_a_row(submission.sampling)
    num_sent = (len(submission.prompts) - (num_cached or 0)) * times
    prompt_tokens = round(num_sent * sizes.prompt_tokens)
    output = LikelyOutput(sizes.likely_output, sizes.likely_output, False)
    if local is not None and num_sent:
        output = learnt_output(submission, local.find_lengths(), num_sent) or output
    work = ExpectedWork(num_sent, prompt_tokens * (1 - sizes.shared), output.mean)
    pace = TimeEstimate(0.0, "nothing to ask")
    if num_sent:
        pace = _by_history(work, output.is_learnt, record, history)
        before, is_near = _by_kept(work, output.is_learnt, record, kept)
        if pace.seconds is None and is_near:
            pace = before
        if pace.seconds is None and local is not None and (cost := local.find_cost()) is not None:
            pace = by_cost(work, cost, local.max_num_seqs, output.longest)
        if pace.seconds is None and before.seconds is not None:
            pace = before
    likely = None
    if spending is not None:
        counted = sizes.prompt_tokens if local is not None else None
        likely = spending.likely(output.mean, counted, times, pace.seconds)
    return Estimate(
        record.function, record.template, record.model, record.num_rows, record.num_null, record.num_distinct,
        num_cached, prompt_tokens, sizes.is_counted and not num_cached, sizes.shared,
        num_sent * sizes.max_output, pace.seconds, pace.basis, likely,
    )  # fmt: skip


def measure(submission: Submission, encoder: Encoder | None, block: int = BLOCK) -> Sizes:
    """How large the prompts are that are sent for a submission's rows, and the answers may be.

    By all prompts of a sample of the rows; without an encoder by characters.
    """
    sampled = _sample(submission.prompts, prompts_a_row(submission.sampling))
    asked = all_asked(submission.part(sampled, None))
    prompts, sampling = asked.prompts, asked.sampling
    cap = sampling.output_cap
    if encoder is not None:
        try:
            found = encoder.encode(prompts, asked.system, sampling.thinking, asked.turns)
            rows = [tuple(ids) for ids in found]
            likely = expected_output(sampling, encoder)
        except Exception:  # a chat template that refuses these prompts; asking them will say so
            return measure(submission, None, block)
        is_counted = len(sampled) == len(submission.prompts)
        return Sizes(_mean(rows), is_counted, prefix_share(rows, block), cap, likely)
    texts = [asked.lead + prompt for prompt in prompts]
    shared = prefix_share(texts, block * CHARS_A_TOKEN)
    return Sizes(_mean(texts) / CHARS_A_TOKEN, False, shared, cap, expected_output(sampling))


def by_cost(
    work: ExpectedWork, cost: CostModel, max_num_seqs: int | None, longest_output: float | None = None
) -> TimeEstimate:
    """Seconds by step times that were calibrated or learnt on this machine, steps as full as they can be.

    Args:
        longest_output: tokens of the answer that is waited for at the end; None: as of any.
    """
    wave = min(work.num_prompts, max_num_seqs or NUM_SEQS)
    longest = work.output_tokens if longest_output is None else longest_output
    decode_steps = (work.num_prompts / wave - 1) * work.output_tokens + longest
    steps = max(decode_steps, ceil(work.prompt_tokens / STEP_TOKENS))
    return TimeEstimate(slopes_s(work, cost) + steps * cost.shared_base_s, "step times measured here")


def _by_history(work: ExpectedWork, is_learnt: bool, record: QueryRecord, history: History) -> TimeEstimate:
    """Seconds at the pace, in tokens a second, of the largest relQueries that this model answered before.

    An engine that keeps no lengths by kind, such as a server elsewhere, leaves the mean answer of the same
    function in the history.

    Args:
        is_learnt: whether the output tokens are those of earlier answers; else the function's tell, too.
    """
    past = [q for q in history.queries() if q.model == record.model and q.state == "done"]
    past = [q for q in past if engine_seconds(q) > 0]
    past = sorted((q for q in past if _tokens(q)), key=_tokens)[-MAX_EVIDENCE:]
    if not past:
        return TimeEstimate(None, "nothing is known of this model's pace yet")
    alike = [q for q in past if q.function == record.function]
    output = work.output_tokens
    if not is_learnt and (num_done := sum(q.num_done for q in alike)):
        output = min(output, sum(q.usage.output_tokens for q in alike) / num_done)
    tokens = work.prompt_tokens + work.num_prompts * output
    if _tokens(past[-1]) < MIN_EVIDENCE * tokens:
        return TimeEstimate(None, "earlier relQueries were too small to tell")
    rate = sum(map(_tokens, past)) / sum(map(engine_seconds, past))
    return TimeEstimate(tokens / rate, f"{len(past)} earlier relQuer{'y' if len(past) == 1 else 'ies'}")


def _by_kept(
    work: ExpectedWork, is_learnt: bool, record: QueryRecord, kept: Sequence[KeptPace]
) -> tuple[TimeEstimate, bool]:
    """Seconds at the pace of those relQueries of earlier processes that were nearest in size.

    An engine is quicker with many rows at once than with few, so that those of another size tell less.

    Returns:
        The estimate, and whether their sizes are near.
    """
    alike = [each for each in kept if each.function == record.function and each.prompts]
    output = work.output_tokens
    if not is_learnt and alike:
        output = min(output, sum(each.output_tokens for each in alike) / sum(each.prompts for each in alike))
    tokens = work.prompt_tokens + work.num_prompts * output
    fit = [each for each in kept if each.seconds > 0 and each.tokens >= MIN_EVIDENCE * tokens]
    if not fit or not tokens:
        return TimeEstimate(None, "nothing is known of this model's pace yet"), False
    nearest = sorted(fit, key=lambda each: _distance(each.tokens, tokens))[:MAX_EVIDENCE]
    near = [each for each in nearest if _distance(each.tokens, tokens) <= log(NEAR)]
    told = near or nearest
    rate = sum(each.tokens for each in told) / sum(each.seconds for each in told)
    basis = f"{len(told)} relQuer{'y' if len(told) == 1 else 'ies'} of earlier processes"
    return TimeEstimate(tokens / rate, basis), bool(near)


def _distance(tokens: float, others: float) -> float:
    return abs(log(tokens / others))


def pace_of(record: QueryRecord) -> KeptPace | None:
    """What a relQuery took, for later processes; None where it tells nothing of the model's pace."""
    if record.state != "done" or not _tokens(record) or engine_seconds(record) <= 0:
        return None
    num_asked = record.num_done - record.num_cached
    seconds = engine_seconds(record)
    return KeptPace(record.function, num_asked, _tokens(record), record.usage.output_tokens, seconds)


def _tokens(q: QueryRecord) -> int:
    """Tokens that the engine computed."""
    return q.usage.prompt_tokens - q.usage.cached_tokens + q.usage.output_tokens


def _sample(prompts: Sequence[str], times: int) -> range:
    """The rows that are looked at, for each of which so many prompts are made."""
    num_chars = sum(map(len, prompts)) * times
    step = max(ceil(len(prompts) * times / SAMPLE), ceil(num_chars / SAMPLE_CHARS), 1)
    return range(0, len(prompts), step)


def _mean(rows: Sequence[str] | Sequence[tuple[int, ...]]) -> float:
    return sum(map(len, rows)) / len(rows) if rows else 0.0
