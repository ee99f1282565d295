"""Probabilities of choices read from a server: of their labels, among a reply's likeliest first tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from relserve.call.answer_types import Grammar
from relserve.call.labels import labels_of, with_own_labels
from relserve.call.relquery import Reply, Submission, Usage
from relserve.engines.http.choice_share import UNTOLD
from relserve.engines.http.confidence import told_tokens
from relserve.engines.http.reply import choice_in, usage_in
from relserve.errors import Failure, FailureKind, OptionError

TELLS_NONE = "the server tells no probabilities of tokens; name another model"
LEAST_MASS = 0.5  # of all labels: a model that gives them less does not answer with them
MOST_UNSEEN = 0.01  # share of the labels' probability, or of all, that what is not told of them may have


def as_asked(submission: Submission) -> Submission:
    """A submission as a server is asked for probabilities: no grammar, one token, what else was likely.

    With letters, for it is not known how a server's model cuts words into tokens; yes and no are one each
    mostly.

    Raises:
        OptionError: the sum over all spellings is asked for.
    """
    if submission.sampling.read is None or not submission.has_grammars:
        return submission
    if submission.sampling.read == "exact":
        raise OptionError(
            "read := 'exact' asks about tokens that a server does not tell; leave it out, or name a model "
            "that runs here"
        )
    is_one = submission.grammars is None
    asked = _labelled(submission) if is_one else with_own_labels(submission, _labelled)
    sampling = replace(submission.sampling, grammar=None, with_confidence=True, max_tokens=1)
    return replace(asked, sampling=sampling, grammars=None)


def _labelled(submission: Submission) -> Submission:
    assert submission.sampling.grammar is not None
    return labels_of(submission.sampling.grammar.choices)[:2][-1].asked(submission)


def read_labels(data: object, index: int, labels: Sequence[str], label_mass: bool = False) -> Reply:
    """The probabilities of the choices in the body of a 200 response; a failure where it tells too little.

    Args:
        label_mass: the reply tells it, if ways to write labels that the server does not tell have at most
            `MOST_UNSEEN`.

    Raises: as `read_reply`.
    """
    told, usage = choice_in(data), usage_in(data)
    try:
        first = told_tokens(told["logprobs"])[0]
    except (TypeError, LookupError, AttributeError, ValueError, OverflowError):
        return refused(index, TELLS_NONE, usage)
    likely = {text: logprob for text, logprob in first.likeliest.items() if logprob > UNTOLD}
    likely[first.text] = first.logprob
    masses = _masses(labels, likely)
    total = sum(masses.values())
    shown = ", ".join(labels[:5])
    if total < LEAST_MASS:
        why = f"the model began {100 * total:.2g} % of its replies with one of the labels {shown}"
        return refused(index, f"{why}; name another model", usage)
    num_untold = sum(not mass for mass in masses.values())
    if num_untold * math.exp(min(likely.values())) > MOST_UNSEEN * total:
        why = f"the server told {len(likely)} likely tokens, too few for {num_untold} of the labels {shown}"
        return refused(index, f"{why}; take fewer choices, or name another model", usage)
    found = tuple(masses[label] / total for label in labels)
    is_known = label_mass and _most_unseen(labels, likely) <= MOST_UNSEEN
    mass = (min(1.0, total),) if is_known else None
    return Reply(index, first.text, usage=usage, probabilities=found, label_masses=mass)


def _masses(labels: Sequence[str], likely: Mapping[str, float]) -> dict[str, float]:
    """The probability of each label, after a space or with a capital letter, too."""
    written = Grammar(choices=tuple(labels)).written
    masses = dict.fromkeys(labels, 0.0)
    for text, logprob in likely.items():
        label = written.get(text.strip())
        if label is not None:
            masses[label] += math.exp(min(0.0, logprob))
    return masses


def _most_unseen(labels: Sequence[str], likely: Mapping[str, float]) -> float:
    """The most probability that spellings of labels have which are not told: each at most the least told."""
    spellings = {space + text for text in Grammar(choices=tuple(labels)).written for space in ("", " ")}
    rest = 1 - sum(math.exp(min(0.0, logprob)) for logprob in likely.values())
    return min(rest, len(spellings - likely.keys()) * math.exp(min(likely.values())))


def refused(index: int, why: str, usage: Usage = Usage()) -> Reply:
    """A reply that tells why there are no probabilities."""
    return Reply(index, None, Failure(FailureKind.REFUSED, why), usage)
