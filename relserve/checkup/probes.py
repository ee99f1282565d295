"""What an engine can do, by trying: grammars that it must hold to, probabilities, and its speed."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Sequence

from relserve.call.answer_types import Grammar
from relserve.call.relquery import Reply, Sampling, Submission, new_rel_id
from relserve.call.schema import shape_of
from relserve.checkup.page import CheckResult, Speed
from relserve.session.session import Session

# Nothing in it leads to what the grammars allow: an answer that fits comes from the grammar.
PROMPT = "Write a sentence about the sea."
CHOICES = ("quartz", "basalt")
PATTERN = "[0-9]{3}-[0-9]{3}"
FIELDS = {"depth": "BIGINT", "salty": "BOOLEAN"}
WORDS = 200  # of a prompt whose prefill is timed
TIMED_S = 1.5  # that one measurement is to take, about
MAX_PROMPTS = 64
DECODE_ROWS, DECODE_TOKENS = 16, 32


def try_grammars(session: Session) -> list[CheckResult]:
    """A choice, a regular expression and a JSON schema, each with a prompt that says nothing of it."""
    shape = shape_of(json.dumps(FIELDS))
    tries: list[tuple[str, Grammar, Callable[[str], bool]]] = [
        ("choice", Grammar(choices=CHOICES), lambda text: text.strip() in CHOICES),
        ("regex", Grammar(regex=PATTERN), lambda text: re.fullmatch(PATTERN, text.strip()) is not None),
        ("JSON schema", Grammar(shape=shape), _has_fields),
    ]
    return [_try(session, *each) for each in tries]


def try_logprobs(session: Session) -> CheckResult:
    """Whether the engine tells how probable its answers are, as min_confidence needs."""
    sampling = Sampling(max_tokens=8, grammar=Grammar(choices=CHOICES), with_confidence=True)
    reply = _ask(session, [PROMPT], sampling)[0]
    if reply.confidence is None:
        return CheckResult("logprobs", False, reply.failure.message if reply.failure else "none were told")
    return CheckResult("logprobs", True, f"{reply.text!r} with probability {reply.confidence:.3f}")


def measure_speed(session: Session, context: int | None) -> Speed:
    """Tokens a second of prefill and decode, in a few seconds.

    Args:
        context: the most tokens of a prompt, where it is known.
    """
    words = random.Random(0)
    length = min(WORDS, (context or 4096) // 12)

    def prompts(count: int) -> list[str]:
        return [" ".join(str(words.randrange(1000)) for _ in range(length)) for _ in range(count)]

    def prefill(count: int) -> tuple[int, float]:
        started = time.monotonic()
        replies = _ask(session, prompts(count), Sampling(max_tokens=1))
        seconds = time.monotonic() - started
        return sum(reply.usage.prompt_tokens - reply.usage.cached_tokens for reply in replies), seconds

    prefill(1)  # the first request is slower
    _, one_s = prefill(1)
    tokens, seconds = prefill(max(2, min(MAX_PROMPTS, int(TIMED_S / max(one_s, 1e-3)))))
    asked = [f"{PROMPT} ({number})" for number in range(DECODE_ROWS)]
    started = time.monotonic()
    replies = _ask(session, asked, Sampling(max_tokens=DECODE_TOKENS))
    decode_s = time.monotonic() - started
    answered = sum(reply.usage.output_tokens for reply in replies)
    return Speed(tokens / seconds if tokens else None, answered / decode_s if answered else None, DECODE_ROWS)


def _try(session: Session, name: str, grammar: Grammar, fits: Callable[[str], bool]) -> CheckResult:
    reply = _ask(session, [PROMPT], Sampling(max_tokens=64, grammar=grammar))[0]
    if reply.text is None:
        return CheckResult(name, False, reply.failure.message if reply.failure else "no answer")
    return CheckResult(name, fits(reply.text), reply.text)


def _has_fields(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and set(value) == set(FIELDS)


def _ask(session: Session, prompts: Sequence[str], sampling: Sampling) -> list[Reply]:
    return session.submit(Submission(new_rel_id(), prompts, sampling)).result()
