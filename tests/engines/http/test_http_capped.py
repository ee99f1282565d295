"""Requests of several rows under caps: each row is let go by itself, and their tokens count once."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from asking import ask, collect, submission_of
from decision_fakes import decisions, serving
from http_fakes import Answered

from relserve.call.decisions import YES_NO, FollowUp
from relserve.engines.http.embedded_rows import MOST_TEXTS
from relserve.engines.http.engine import HttpEngine
from relserve.engines.loop import spawn
from relserve.errors import FailureKind
from relserve.prices.price import Rates, TokenPrice
from relserve.session.capped_engine import CappedEngine
from relserve.session.caps import Limits, SpendingCap
from relserve.session.per_question import PerQuestion

TEXTS = [f"text {i}" for i in range(3 * MOST_TEXTS)]


async def embedded(body):
    items = [{"index": i, "embedding": [1.0, len(text)]} for i, text in enumerate(body["input"])]
    return Answered(body={"data": items, "usage": {"prompt_tokens": 7 * len(items)}})


def test_no_row_is_sent_beside_others_that_a_cap_does_not_let_go(fake):
    server, cap = fake(embedded), SpendingCap(Limits(rows=MOST_TEXTS + 6), "x")
    replies = ask(CappedEngine(HttpEngine(server.url), [cap], None), TEXTS, embeds=True)
    kinds = [reply.failure and reply.failure.kind for reply in replies]
    assert kinds == [None] * (MOST_TEXTS + 6) + [FailureKind.CAP] * (2 * MOST_TEXTS - 6)
    assert [len(body["input"]) for _, body in server.requests] == [MOST_TEXTS, 6]
    assert cap.spent.rows == MOST_TEXTS + 6


def test_tokens_of_a_request_count_once(fake):
    cap, price = SpendingCap(Limits(), "x"), TokenPrice(Rates(1.0, 1.0, 1.0))
    ask(CappedEngine(HttpEngine(fake(embedded).url), [cap], price), TEXTS, embeds=True)
    assert cap.spent == (len(TEXTS), 7 * len(TEXTS), pytest.approx(7e-6 * len(TEXTS)))


def test_so_do_those_of_questions_about_one_state(fake):
    server, cap = fake(serving(decisions=decisions)), SpendingCap(Limits(), "x")
    asked = tuple(FollowUp(f"Does {label} apply?", YES_NO) for label in "abc")
    how = {"max_tokens": 1, "read": "label", "follow_ups": asked}
    capped = PerQuestion(CappedEngine(HttpEngine(server.url), [cap], None))
    replies = ask(capped, ["one", "two", "three"], **how)
    assert cap.spent.rows == 9
    assert cap.spent.tokens == sum(reply.usage.prompt_tokens for reply in replies) < 9 * 40


def test_prompts_under_way_count_when_their_statement_is_given_up(fake):
    """The host charges for them: else a user who interrupts each statement would have no cap."""

    async def never(body):
        await asyncio.Event().wait()

    server, cap, price = fake(never), SpendingCap(Limits(), "x"), TokenPrice(Rates(1.0, 1.0, 1.0))

    async def given_up():
        asking = asyncio.ensure_future(
            collect(CappedEngine(HttpEngine(server.url), [cap], price), submission_of(["x" * 4000]))
        )
        while not server.requests:
            await asyncio.sleep(0.01)
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking

    spawn(given_up()).result(timeout=60)
    assert cap.spent.rows == 1
    assert 900 < cap.spent.tokens < 1100
    assert cap.spent.cost == pytest.approx(cap.spent.tokens * 1e-6)
    assert cap.claim(cap.spent)  # nothing is claimed any more
