"""Keys under which replies are kept: hashes of all that shapes a reply."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from functools import lru_cache, partial
from itertools import repeat
from typing import Any

from relserve.call.answer_types import Grammar
from relserve.call.frame import Frame
from relserve.call.relquery import Submission

KEY_BYTES = 16


def keys_of(fingerprint: str, submission: Submission) -> list[bytes]:
    """A key for each prompt: a hash of the model and of all in the submission that shapes the reply."""
    start_of = lru_cache(maxsize=None)(partial(_start_of, fingerprint, submission))
    grammars = submission.grammars or repeat(None, len(submission.prompts))
    same = None if submission.grammars else start_of(None)
    keys = []
    for prompt, grammar in zip(submission.prompts, grammars, strict=True):
        hashed = (same or start_of(grammar)).copy()
        hashed.update(prompt.encode("utf-8", "surrogatepass"))
        keys.append(hashed.digest())
    return keys


def _start_of(fingerprint: str, submission: Submission, grammar: Grammar | None) -> hashlib.blake2b:
    """The hash of all but the prompt; `grammar`: the reply's own."""
    follow_ups = submission.sampling.follow_ups
    grammar = None if follow_ups else grammar or submission.sampling.grammar  # they have their own
    sampling = asdict(replace(submission.sampling, grammar=grammar))
    del sampling["sure_at"]  # of min_confidence, whose answers are not kept: they hang on the threshold
    if grammar is not None and not grammar.ebnf:
        del sampling["grammar"]["ebnf"]  # there was none once: what was kept then is still found
    if grammar is not None and grammar.source is None:
        del sampling["grammar"]["source"]  # likewise
    if sampling["read"] is None:
        del sampling["read"]  # likewise
    del sampling["follow_ups"]
    if follow_ups:  # their names are told in failures alone, which are not kept
        sampling["follow_ups"] = [(each.text, each.choices) for each in follow_ups]
    for name in ("embeds", "label_mass"):
        if not sampling[name]:
            del sampling[name]
    if sampling["debias"] == 1:
        del sampling["debias"]
    own: list[Any] = [] if submission.cache_salt is None else [submission.cache_salt]
    own += [{"turns": submission.turns}] if submission.turns else []
    if submission.sampling.read is not None and submission.frame != Frame():
        own.append({"frame": submission.frame})  # a decision server is told the question apart from the state
    shape = json.dumps([fingerprint, submission.system, sampling, *own])
    # JSON has no line break in it, so no other shape and prompt give the same bytes.
    return hashlib.blake2b(shape.encode() + b"\n", digest_size=KEY_BYTES)
