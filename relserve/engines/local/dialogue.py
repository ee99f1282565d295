"""What is asked of vLLM about one row, step by step, and the reply that its outputs make."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from relserve.call.answer_types import Grammar
from relserve.call.relquery import Reply, RowTimes, Usage
from relserve.engines.local.choice_search import DOUBT, ChoiceSearch, Position
from relserve.engines.local.spellings import Spellings
from relserve.errors import Failure, FailureKind
from relserve.vllm_plugin.host import RequestOutput, num_preemptions

MOST_SCORED = 128  # tokens of which one request tells the probability (vLLM's MAX_LOGPROB_TOKEN_IDS)


class TokenizedPrompt(NamedTuple):
    """A request: the ids of its prompt, and vLLM's sampling parameters."""

    ids: list[int]
    params: Any


# It yields requests to be answered together, is sent their outputs in that order, and returns the reply.
# It never sees a request that vLLM gave up: `Flight` ends it then.
Dialogue = Generator[Sequence[TokenizedPrompt], Sequence[RequestOutput], Reply]
Talk = Callable[[int, list[int]], Dialogue]  # about a row, given its index and the ids of its prompt


def decode(index: int, ids: list[int], params: Any, grammar: Grammar | None) -> Dialogue:
    """The reply that the model writes after the prompt `ids`, without the space that a grammar allows."""
    (output,) = yield [TokenizedPrompt(ids, params)]
    completion = output.outputs[0]
    text = completion.text if grammar is None else grammar.choice_of(grammar.without_space(completion.text))
    return Reply(
        index, text, None, usage_of([output]), times_of([output]),
        cut=completion.finish_reason == "length",
    )  # fmt: skip


class Scoring:
    """How the probabilities of some choices are asked for; made once for all rows of a submission.

    Args:
        params_of: sampling parameters of a request for the probabilities of these next tokens.
        sure_at, doubt: see `ChoiceSearch`.
        label_mass: replies tell it.
    """

    def __init__(
        self,
        grammar: Grammar,
        spellings: Spellings,
        params_of: Callable[[list[int]], Any],
        sure_at: float = 1.0,
        doubt: float = DOUBT,
        label_mass: bool = False,
    ) -> None:
        self.grammar, self.spellings, self.sure_at, self.doubt = grammar, spellings, sure_at, doubt
        self.params_of, self.label_mass = params_of, label_mass
        self._params: dict[bytes, list[Any]] = {}

    def asks(self, ids: list[int], position: Position) -> list[TokenizedPrompt]:
        """The requests for the probabilities of the tokens that may come at a position."""
        params = self._params.get(position.spelled)
        if params is None:
            tokens = [step.token for step in self.spellings.steps(position.spelled)]
            parts = [tokens[i : i + MOST_SCORED] for i in range(0, len(tokens), MOST_SCORED)]
            params = self._params[position.spelled] = [self.params_of(part) for part in parts]
        return [TokenizedPrompt([*ids, *position.path], each) for each in params]


def choose(index: int, ids: list[int], scoring: Scoring, text: str | None = None) -> Dialogue:
    """The most probable choice, or the one that `text` is, and its probability; see `ChoiceSearch`."""
    about = None if text is None else scoring.spellings.choices.index(text)
    search = ChoiceSearch(scoring.spellings, scoring.sure_at, about, scoring.doubt)
    outputs: list[RequestOutput] = []
    while wave := search.wave():
        asks = [scoring.asks(ids, position) for position in wave]
        told = yield [ask for each in asks for ask in each]
        outputs += told
        parts = iter(told)
        for position, each in zip(wave, asks, strict=True):
            search.learn(position, {k: v for _ in each for k, v in logprobs_of(next(parts)).items()})
    probabilities = search.probabilities()
    if probabilities is None:
        choices = list(scoring.spellings.choices)[:10]
        message = f"the model gives no probability (or NaN) to any spelling of {choices}"
        return Reply(index, None, Failure(FailureKind.REFUSED, message), usage_of(outputs))
    if text is None:
        text = scoring.spellings.choices[max(range(len(probabilities)), key=probabilities.__getitem__)]
    best = scoring.spellings.choices.index(text)
    all_of_them = tuple(probabilities) if scoring.sure_at >= 1 else None  # else they are known in part
    return Reply(
        index, text, None, usage_of(outputs), times_of(outputs), probabilities[best],
        probabilities=all_of_them, label_masses=(search.mass(),) if scoring.label_mass else None,
    )  # fmt: skip


def logprobs_of(output: RequestOutput) -> dict[int, float]:
    """Log probabilities by token, at the one position that the request sampled."""
    (position,) = output.outputs[0].logprobs
    return {token: told.logprob for token, told in position.items()}


def after(earlier: Reply, later: Reply) -> Reply:
    """`later` with the tokens and times of what was asked about its row before."""
    usage, times = Usage.total((earlier.usage, later.usage)), later.times
    if times is not None and earlier.times is not None:
        preemptions = earlier.times.preemptions + times.preemptions
        times = earlier.times._replace(last_token_s=times.last_token_s, preemptions=preemptions)
    return replace(later, usage=usage, times=times)


def usage_of(outputs: Sequence[RequestOutput]) -> Usage:
    """Tokens of some requests together."""
    return Usage(
        sum(len(each.prompt_token_ids) for each in outputs),
        sum(each.num_cached_tokens or 0 for each in outputs),
        sum(len(each.outputs[0].token_ids) for each in outputs),
    )


def times_of(outputs: Sequence[RequestOutput]) -> RowTimes | None:
    """From when the first was queued until the last was there; None where the engine tells no times."""
    """From when the first was queued until the last was there; None where the engine tells no times."""
    times = [each.metrics for each in outputs if each.metrics is not None]
    if not times:
        return None
    first = times[0]
    return RowTimes(
        first.queued_ts, first.scheduled_ts, first.first_token_ts, max(t.last_token_ts for t in times),
        sum(map(num_preemptions, times)),
    )  # fmt: skip
