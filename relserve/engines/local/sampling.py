"""vLLM's sampling parameters for the rows of a submission, and how each row is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from relserve.call.labels import Labels
from relserve.call.rel_tag import SHARES, RelTag
from relserve.call.relquery import Submission
from relserve.call.structured import structured_outputs_of
from relserve.engines.local.choice_search import DOUBT, DOUBT_BELOW
from relserve.engines.local.dialogue import Dialogue, Scoring, Talk, after, choose, decode
from relserve.engines.local.label_read import groups_of, weigh
from relserve.engines.local.prompts import speakable
from relserve.engines.local.running import RunningEngine
from relserve.engines.local.spellings import Spellings
from relserve.engines.local.thinking import Thinking
from relserve.vllm_plugin import host


def talk_of(engine: RunningEngine, submission: Submission, indices: Sequence[int]) -> Talk:
    """How to ask about a row, given its index and the ids of its prompt.

    Args:
        indices: of the rows that are asked now.
    """
    if submission.grammars is None:
        return _talk(engine, submission, len(indices))
    if any(grammar is not None and grammar.source is not None for grammar in submission.grammars):
        # Nearly every row has a grammar of its own, made of its text: each is made when its row is sent.
        num_rows = len(indices)
        return lambda index, ids: _talk(engine, submission.as_for(index), num_rows)(index, ids)
    # Rows of one grammar share their parameters, and what is sent of these.
    first_of = {submission.grammar_of(index): index for index in indices}
    talks = {
        grammar: _talk(engine, submission.as_for(index), len(indices)) for grammar, index in first_of.items()
    }
    return lambda index, ids: talks[submission.grammar_of(index)](index, ids)


def _talk(engine: RunningEngine, submission: Submission, num_rows: int) -> Talk:
    if not submission.sampling.thinking:
        return _answering(engine, submission, num_rows)
    cap = answer_cap(engine, submission)
    tag = _tag_of(submission, num_rows, submission.sampling.thinking)
    thinking = Thinking(engine.encoder, submission.sampling, cap, engine.max_model_len, tag)
    answering = _answering(engine, submission, num_rows, thinking)
    return lambda index, ids: thinking.before(index, ids, answering)


def _answering(
    engine: RunningEngine, submission: Submission, num_rows: int, thinking: Thinking | None = None
) -> Talk:
    sampling = submission.sampling
    if sampling.read is not None:
        return _weighing(engine, submission, num_rows)
    params = sampling_params(engine, submission, num_rows, thinking)
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
    chosen = yield from choose(index, ids, scoring, drawn.text)
    return replace(after(drawn, chosen), cut=drawn.cut)


def _weighing(engine: RunningEngine, submission: Submission, num_rows: int) -> Talk:
    """How to ask for the probabilities of all choices."""
    scoring = _scoring(engine, submission, num_rows)
    groups = groups_of(engine, submission.labels) if submission.labels else None
    if groups is None:
        return lambda index, ids: choose(index, ids, scoring)
    labels = Labels(scoring.grammar.choices, submission.labels)
    tag = _tag_of(submission, num_rows, 1).args()
    params = _params_of_tokens(
        [token for group in groups for token in group],
        # Of letters and digits, and where it is asked for, it counts, too, what anything else gets.
        {**tag, SHARES: 1} if labels.are_words and not submission.sampling.label_mass else tag,
    )

    def exactly(index: int) -> Dialogue:
        """With the prompt that names the choices by their own words."""
        plain = labels.without(submission.part([index], None))
        (ids,) = engine.encoder.encode(plain.prompts, plain.system, 0, plain.turns)
        return (yield from choose(index, ids, scoring))

    tells = submission.sampling.label_mass
    return lambda index, ids: weigh(index, ids, params, labels, groups, exactly(index), tells)


def _scoring(engine: RunningEngine, submission: Submission, num_rows: int) -> Scoring:
    assert submission.sampling.grammar is not None
    grammar = submission.sampling.grammar
    written = {speakable(text): speakable(choice) for text, choice in grammar.written.items()}
    tag = _tag_of(submission, num_rows, 1).args()
    return Scoring(
        grammar,
        Spellings(written, grammar.takes_space, engine.tokens_of, engine.encoder.ids_of),
        lambda tokens: _params_of_tokens(tokens, tag),
        submission.sampling.sure_at,
        DOUBT_BELOW if submission.labels else DOUBT,  # the same whatever is asked beside it
        submission.sampling.label_mass,
    )


def _params_of_tokens(tokens: list[int], tag: Mapping[str, Any]) -> Any:
    """vLLM's sampling parameters of a request for the probabilities of these next tokens."""
    return host.shared_sampling_params(
        max_tokens=1, temperature=0.0, detokenize=False, logprob_token_ids=tokens, extra_args=tag
    )


def _tag_of(submission: Submission, num_rows: int, output_cap: int, likely: int | None = None) -> RelTag:
    tag = submission.tag(len(submission.prompts) - num_rows, output_cap, likely)
    # Thoughts are a request of their own, which counts as a row.
    return tag._replace(rows=2 * tag.rows) if submission.sampling.thinking else tag


def answer_cap(engine: RunningEngine, submission: Submission) -> int:
    """The most tokens of one answer, as the model's tokenizer tells."""
    sampling = submission.sampling
    longest = None
    if sampling.grammar is not None and sampling.grammar.choices:
        longest = sampling.grammar.most_tokens(engine.encoder.num_tokens)
    return sampling.max_tokens if longest is None else min(sampling.max_tokens, longest)


def sampling_params(
    engine: RunningEngine, submission: Submission, num_rows: int, thinking: Thinking | None = None
) -> Any:
    """vLLM's sampling parameters for every answer of a submission, of which `num_rows` are sent."""
    sampling, grammar = submission.sampling, submission.sampling.grammar
    likely = sampling.likely_by(engine.encoder.num_tokens)
    tag = _tag_of(submission, num_rows, answer_cap(engine, submission), likely)
    structured = host.structured_outputs(**structured_outputs_of(grammar, speakable)) if grammar else None
    return host.shared_sampling_params(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=sampling.seed,
        stop=[speakable(s) for s in sampling.stop],
        structured_outputs=structured,
        logit_bias=thinking.banned if thinking is not None and grammar is None else None,
        extra_args=tag.args(),
    )
