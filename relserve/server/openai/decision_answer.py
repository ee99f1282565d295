"""What is decided: the engine's replies to a request's questions, and the answer in the client's form."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from relserve.call.decisions import expected_level
from relserve.call.questions import TypedQuestion
from relserve.call.relquery import Reply, Usage
from relserve.call.standing import Standing
from relserve.errors import EngineError, FailureKind, OptionError
from relserve.server.openai.decision_request import DECISIONS, DecisionRequest
from relserve.server.openai.refusal import DEADLINE, LIMIT, Refusal, unavailable
from relserve.server.openai.upstream import Upstream

logger = logging.getLogger(__name__)


def total_usage(replies: Sequence[Reply]) -> Usage:
    """The tokens of some replies together."""
    return Usage.total(reply.usage for reply in replies)


async def decide(upstream: Upstream, asked: DecisionRequest, trace: Mapping[str, str]) -> list[Reply]:
    """The engine's replies to the questions, in their order; cancelling it aborts what is unfinished.

    Raises:
        Refusal: no engine answers now; or this one tells no probabilities; or the questions wait at the gate
            and will probably miss their deadline.
    """
    loop = asyncio.get_running_loop()
    too_late: asyncio.Future[Refusal] = loop.create_future()

    def refuse(refusal: Refusal) -> None:
        if not too_late.done():
            too_late.set_result(refusal)

    def told(standing: Standing) -> None:  # by the gate, in its thread
        if (refusal := _too_late(standing, asked.submission.deadline_s)) is not None:
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(refuse, refusal)

    submission = replace(asked.submission, told=told, trace=trace or None)
    asking = asyncio.ensure_future(upstream.answer(submission))
    awaited: tuple[asyncio.Future[Any], ...] = (asking, too_late)
    try:
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            raise too_late.result()
        return sorted(asking.result(), key=lambda reply: reply.index)
    except EngineError as error:
        raise unavailable(str(error)) from None
    except OptionError as error:  # of how the engine is run, not of what is asked
        raise Refusal(501, str(error)) from None
    finally:
        asking.cancel()
        with suppress(BaseException):
            await asking


def _too_late(standing: Standing, deadline_s: float | None) -> Refusal | None:
    """What questions that wait are told where they will probably be late, as chats are."""
    if deadline_s is None or not standing.num_waiting or standing.estimate_s is None:
        return None
    if time.time() + standing.estimate_s <= deadline_s:
        return None
    why = f"the deadline will probably be missed: about {standing.estimate_s:.3g} s to the end"
    return Refusal(429, why, LIMIT, retry_s=standing.estimate_s)


def answer_of(asked: DecisionRequest, model: str, replies: Sequence[Reply]) -> dict[str, Any]:
    """The answer in the form of the path that was asked.

    Raises:
        Refusal: a question has no answer; says which, and why.
    """
    for question, reply in zip(asked.questions, replies, strict=True):
        _check(question, reply)
    found = [reply.probabilities or () for reply in replies]
    answers: Any
    if asked.path == DECISIONS:
        told = map(_listed_answer, asked.questions, asked.values, found)
        answers = [{"name": name, **each} for name, each in zip(asked.names, told, strict=True)]
    else:
        answers = {each.key: _answer(each, p) for each, p in zip(asked.questions, found, strict=True)}
    return {"model": model, "answers": answers, "usage": _usage(replies)}


def _check(question: TypedQuestion, reply: Reply) -> None:
    where, failure = f"question {question.key!r}", reply.failure
    if failure is None and reply.probabilities is not None:
        return
    if failure is None:
        raise Refusal(501, f"{where}: the engine tells no probabilities; name another model")
    if failure.kind is FailureKind.OVER_CONTEXT:
        raise Refusal(413, f"{where}: {failure.message}; shorten the state", param="questions")
    if failure.kind is FailureKind.DEADLINE:
        raise Refusal(504, failure.message, DEADLINE)
    if failure.kind is FailureKind.REFUSED:
        raise Refusal(501, f"{where}: {failure.message}")
    logger.error("the engine failed on a question: %s", failure.message)
    raise Refusal(500, "the engine failed on the request; the server's log says why")


def _answer(question: TypedQuestion, found: Sequence[float]) -> dict[str, Any]:
    """As System One has it."""
    if question.kind == "noul":
        return {"type": "noul", "noul": found[0]}
    best = max(range(len(found)), key=found.__getitem__)
    if question.kind == "choice":
        told = dict(zip(question.choices, found, strict=True))
        return {
            "type": "choice", "choice": question.choices[best], "confidence": found[best],
            "probabilities": told,
        }  # fmt: skip
    levels = list(map(str, range(len(found))))
    return {
        "type": "score", "score": expected_level(found), "confidence": found[best],
        "probabilities": dict(zip(levels, found, strict=True)),
        "legend": dict(zip(levels, question.choices, strict=True)),
    }  # fmt: skip


def _listed_answer(question: TypedQuestion, values: Sequence[Any], found: Sequence[float]) -> dict[str, Any]:
    """As `/v1/decisions` has it."""
    if question.kind == "noul":
        return {"type": "predicate", "probability": found[0]}
    best = max(range(len(found)), key=found.__getitem__)
    if question.kind == "choice":
        told = [{"value": value, "probability": p} for value, p in zip(values, found, strict=True)]
        return {"type": "choice", "choice": values[best], "confidence": found[best], "probabilities": told}
    pairs = enumerate(zip(question.choices, found, strict=True))
    told = [{"value": level, "label": label, "probability": p} for level, (label, p) in pairs]
    return {"type": "score", "score": expected_level(found), "confidence": found[best], "probabilities": told}


def _usage(replies: Sequence[Reply]) -> dict[str, Any]:
    usage = total_usage(replies)
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.output_tokens,
    }
