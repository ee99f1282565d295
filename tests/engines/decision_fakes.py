"""A made-up server of decisions: chats, System One and OpenAI's Decisions, each as a test wants it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from http_fakes import Answered, Handler, said

Reply = Answered | Callable[[dict[str, Any]], Answered]

NOT_FOUND = Answered(404, {"detail": "Not Found"})
# What a request has that the others have not.
KEYS = {"messages": "chat", "prompt": "completions", "state": "system_one", "input": "decisions"}
FIRST = 0.7  # of the first choice, and of yes


def serving(**replies: Reply) -> Handler:
    """A handler that answers at these paths, named as in `KEYS`, and nowhere else."""

    async def handler(body: dict[str, Any]) -> Answered:
        reply = replies.get(next(name for key, name in KEYS.items() if key in body), NOT_FOUND)
        return reply(body) if callable(reply) else reply

    return handler


def first_token(**likely: float) -> Answered:
    """A chat's reply of one token, the first of these, with their probabilities."""
    reply = said(next(iter(likely)), "length")
    told = [{"token": token, "logprob": math.log(p)} for token, p in likely.items()]
    reply.body["choices"][0]["logprobs"] = {"content": [{**told[0], "top_logprobs": told}]}
    return reply


def system_one(body: dict[str, Any], **instead: Any) -> Answered:
    """Each question's answer in System One; `instead` has others by the names of their questions."""
    answers = {name: _by_system_one(question) for name, question in body["questions"].items()}
    usage = {"input_tokens": 40, "output_tokens": len(answers)}
    return Answered(200, {"model": "m", "answers": _with(answers, instead), "usage": usage})


def decisions(body: dict[str, Any], **instead: Any) -> Answered:
    """The same in OpenAI's Decisions, the last question first."""
    answers = {each["name"]: _by_decisions(each) for each in reversed(body["questions"])}
    usage = {"input_tokens": 40, "input_tokens_details": {"cached_tokens": 8}, "output_tokens": 0}
    return Answered(200, {"model": "m", "answers": list(_with(answers, instead).values()), "usage": usage})


def _with(answers: dict[str, Any], instead: dict[str, Any]) -> dict[str, Any]:
    """None in place of an answer leaves it out."""
    return {name: answer for name, answer in {**answers, **instead}.items() if answer is not None}


def _by_system_one(question: dict[str, Any]) -> dict[str, Any]:
    if question["type"] == "noul":
        return {"type": "noul", "noul": FIRST}
    shares = _shares(list(question["criteria"]))
    return {"type": "choice", "choice": next(iter(shares)), "confidence": 0.6, "probabilities": shares}


def _by_decisions(question: dict[str, Any]) -> dict[str, Any]:
    if question["type"] == "predicate":
        return {"type": "predicate", "name": question["name"], "probability": FIRST}
    shares = _shares([each["value"] for each in question["choices"]])
    told = [{"value": value, "probability": p} for value, p in reversed(shares.items())]
    return {"type": "choice", "name": question["name"], "choice": next(iter(shares)), "probabilities": told}


def _shares(choices: list[str]) -> dict[str, float]:
    rest = (1 - FIRST) / (len(choices) - 1)
    return {choice: rest if number else FIRST for number, choice in enumerate(choices)}
