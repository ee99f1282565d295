"""Servers that answer no more rows, since money or rights are gone: they are not asked for all."""

from __future__ import annotations

import pytest
from asking import ask, texts
from http_fakes import Answered, said

from relserve.engines.http.engine import HttpEngine
from relserve.engines.http.rows import MAX_LOST_IN_A_ROW
from relserve.errors import EngineDeadError, FailureKind

IN_BODY = Answered(200, {"error": {"code": 402, "message": "Insufficient credits"}})


def refused(status, message):
    return Answered(status, {"error": {"message": message}})


def answering_three(then):
    """A server that answers three rows, and says this to all others."""
    num_answered = 0

    async def handler(body):
        nonlocal num_answered
        num_answered += 1
        return said("yes") if num_answered <= 3 else then

    return handler


@pytest.mark.parametrize(
    "reply",
    [
        refused(402, "Payment Required"),
        refused(403, "You have run out of credits"),
        refused(403, "Your quota is exceeded"),
        IN_BODY,
    ],
)
def test_a_quota_that_ends_in_the_middle_stops_the_statement(fake, reply):
    server = fake(answering_three(reply))
    with pytest.raises(EngineDeadError, match="answers no more: HTTP"):
        ask(HttpEngine(server.url, max_in_flight=1), ["row"] * 300)
    assert len(server.requests) == 4


def test_rights_that_end_in_the_middle_stop_it_after_some_rows(fake):
    server = fake(answering_three(refused(403, "this key may not do this")))
    with pytest.raises(EngineDeadError, match=r"none of the last \d+ rows \(HTTP 403: this key"):
        ask(HttpEngine(server.url, max_in_flight=1), ["row"] * 300)
    assert len(server.requests) == 3 + MAX_LOST_IN_A_ROW


def test_rows_that_moderation_refuses_fail_alone_however_many(fake):
    server = fake(answering_three(refused(403, "Flagged by moderation: credit card, my balance")))
    replies = ask(HttpEngine(server.url, max_in_flight=1), ["row"] * 40)
    assert texts(replies) == ["yes"] * 3 + [None] * 37
    assert {reply.failure.kind for reply in replies[3:]} == {FailureKind.REFUSED}


def test_a_first_row_that_moderation_refuses_is_no_wrong_key(fake):
    async def handler(body):
        return refused(403, "flagged by moderation") if "bad" in str(body) else said("yes")

    assert texts(ask(HttpEngine(fake(handler).url, max_in_flight=1), ["bad", "good"])) == [None, "yes"]
