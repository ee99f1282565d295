"""Probabilities of choices read from the first token of a reply, whose labels are one token each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from relserve.call.answer_types import Grammar
from relserve.call.labels import Labels, labels_of, with_own_labels
from relserve.call.relquery import Reply, Submission
from relserve.engines.local.dialogue import (
    MOST_SCORED,
    Dialogue,
    TokenizedPrompt,
    after,
    logprobs_of,
    times_of,
    usage_of,
)
from relserve.engines.local.prompts import speakable
from relserve.engines.local.running import RunningEngine
from relserve.errors import Failure, FailureKind, OptionError

LEAST_MASS = 0.9  # of letters and digits: a model that gives them less does not answer with them alone
# Such as of a model that computes in float16 what that cannot hold.
NOT_A_NUMBER = Failure(FailureKind.REFUSED, "its probabilities are no numbers (NaN); try another dtype")
RAW_LOGPROBS = "raw_logprobs"  # vLLM's default: of all words, before a grammar's mask and the temperature

Groups = tuple[tuple[int, ...], ...]  # of each label, the tokens that write it


def refuse_other_logprobs(model: str, engine_args: Mapping[str, Any]) -> None:
    """Before an engine is started, and before numbers that are no probabilities are taken for some.

    Raises:
        OptionError: the engine is run so that vLLM tells other numbers.
    """
    mode = engine_args.get("logprobs_mode") or RAW_LOGPROBS
    if mode != RAW_LOGPROBS:
        raise OptionError(
            f"min_confidence, llm_prob and their like: {model} is run with the engine argument "
            f"logprobs_mode = {mode!r}, whose numbers are not the model's probabilities; leave that out"
        )


def as_read(engine: RunningEngine, submission: Submission) -> Submission:
    """A submission as this model is asked for the probabilities of choices; takes up to seconds.

    With the first labels that are one token each, else 'exact'.
    """
    was_asked = submission.labels or submission.own_labels is not None
    if submission.sampling.read != "label" or was_asked:
        return submission
    if submission.grammars is not None:
        return with_own_labels(submission, partial(as_read, engine))
    if (grammar := submission.sampling.grammar) is None:
        return submission
    for labels in labels_of(grammar.choices):
        if groups_of(engine, labels.labels) is not None:
            return labels.asked(submission)
    return replace(submission, sampling=replace(submission.sampling, read="exact"))


def groups_of(engine: RunningEngine, labels: Sequence[str]) -> Groups | None:
    """The tokens of each label in this model; None where one is no single token, or they are too many."""
    return groups_in(labels, engine.tokens_of, engine.encoder.ids_of)


def groups_in(
    labels: Sequence[str], tokens_of: Mapping[bytes, Sequence[int]], encode: Callable[[str], Sequence[int]]
) -> Groups | None:
    """See `groups_of`.

    A label may come after a space, or with a capital letter, where all labels have a token for that: else
    those that have one would seem more probable.

    Args:
        tokens_of, encode: as of `Spellings`.
    """
    if not all(any(len(encode(lead + label)) == 1 for lead in ("", " ")) for label in labels):
        return None
    grammar = Grammar(choices=tuple(labels))
    capitals = {label: text for text, label in grammar.written.items()}  # the capital comes last
    groups: list[set[int]] = [set() for _ in labels]
    for lead in ("", " "):
        for texts in (labels, [capitals[label] for label in labels]):
            found = [tokens_of.get(speakable(lead + text).encode(), ()) for text in texts]
            if all(found):
                for group, tokens in zip(groups, found, strict=True):
                    group.update(tokens)
    if not all(groups) or sum(map(len, groups)) > MOST_SCORED:
        return None
    return tuple(tuple(sorted(group)) for group in groups)


def weigh(
    index: int,
    ids: list[int],
    params: Any,
    labels: Labels,
    groups: Groups,
    otherwise: Dialogue,
    label_mass: bool = False,
) -> Dialogue:
    """The probabilities of the choices in proportion to those of all their labels, in one request.

    Args:
        params: of a request for the probabilities of the tokens in `groups`.
        otherwise: what is asked in place of that, where the model does not answer with labels.
        label_mass: the reply tells it.
    """
    (output,) = yield [TokenizedPrompt(ids, params)]
    told = logprobs_of(output)
    highest = max(told[token] for group in groups for token in group)
    masses = [sum(math.exp(told[token] - highest) for token in group) for group in groups]
    reply = Reply(index, None, usage=usage_of([output]), times=times_of([output]))
    if not sum(masses) > 0:
        otherwise.close()
        return replace(reply, failure=NOT_A_NUMBER)
    mass = math.exp(highest) * sum(masses)
    if not labels.are_words and mass < LEAST_MASS:
        return after(reply, (yield from otherwise))
    otherwise.close()
    found = tuple(mass / sum(masses) for mass in masses)
    best = labels.choices[max(range(len(found)), key=found.__getitem__)]
    label_masses = (min(1.0, mass),) if label_mass else None
    return replace(reply, text=best, probabilities=found, label_masses=label_masses)
