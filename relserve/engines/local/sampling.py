"""vLLM's sampling parameters for the rows of a submission, and how each row is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relserve.call.relquery import Submission
from relserve.call.structured import structured_outputs_of
from relserve.engines.local.dialogue import Dialogue, Scoring, choose, decode
from relserve.engines.local.prompts import speakable
from relserve.engines.local.running import RunningEngine
from relserve.engines.local.spellings import Spellings
from relserve.vllm_plugin import host

Talk = Callable[[int, list[int]], Dialogue]


def talk_of(engine: RunningEngine, submission: Submission, num_rows: int) -> Talk:
    """How to ask about a row, given its index and the ids of its prompt.

    Args:
        num_rows: rows of the submission that are asked now.
    """
    sampling = submission.sampling
    params = sampling_params(engine, submission, num_rows)
    if not sampling.with_confidence or sampling.grammar is None or not sampling.grammar.choices:
        return lambda index, ids: decode(index, ids, params, sampling.grammar)
    scoring = _scoring(engine, submission, num_rows)
    if sampling.temperature == 0:
        return lambda index, ids: choose(index, ids, scoring)
    return lambda index, ids: _draw(index, ids, params, scoring)


def _draw(index: int, ids: list[int], params: Any, scoring: Scoring) -> Dialogue:
    """A reply drawn at the call's temperature, with its probability at temperature 1."""
    drawn = yield from decode(index, ids, params, scoring.grammar)
    if drawn.failure is not None or drawn.text not in scoring.spellings.choices:
        return drawn
    return (yield from choose(index, ids, scoring, drawn.text))


def _scoring(engine: RunningEngine, submission: Submission, num_rows: int) -> Scoring:
    assert submission.sampling.grammar is not None
    grammar = submission.sampling.grammar
    choices = [speakable(choice) for choice in grammar.choices]
    tag = submission.tag(len(submission.prompts) - num_rows, 1).args()
    return Scoring(
        grammar,
        Spellings(choices, grammar.takes_space, engine.tokens_of),
        lambda tokens: host.shared_sampling_params(
            max_tokens=1, temperature=0.0, detokenize=False, logprob_token_ids=tokens, extra_args=tag
        ),
    )


def sampling_params(engine: RunningEngine, submission: Submission, num_rows: int) -> Any:
    """vLLM's sampling parameters for every request of a submission, of which `num_rows` are sent."""
    sampling = submission.sampling
    cap = sampling.max_tokens
    if sampling.grammar is not None and sampling.grammar.choices:
        spelled = [lead + choice for choice in sampling.grammar.choices for lead in ("", " ")]
        cap = min(cap, max(engine.encoder.num_tokens(spelled)) + 1)
    tag = submission.tag(len(submission.prompts) - num_rows, cap)
    grammar = sampling.grammar
    structured = host.structured_outputs(**structured_outputs_of(grammar, speakable)) if grammar else None
    return host.shared_sampling_params(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=sampling.seed,
        stop=[speakable(s) for s in sampling.stop],
        structured_outputs=structured,
        extra_args=tag.args(),
    )
