"""What the gate has just refused the gateway refuses itself."""

from __future__ import annotations

from contextlib import suppress
from math import inf

import openai
import pytest

from relserve.server.openai.refusal import Refusal, bad_request
from relserve.server.openai.turned_away import HOLDS_S, MOST, TurnedAway, Want
from tests.server.openai.chatting import chat

BUSY = Refusal(429, "its limit of 4 s will probably be missed", retry_s=7.0)
ANN = Want("ann", "", 50, 4.0)


class Gate:
    """A gate whose clock a test sets."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.turned_away = TurnedAway(lambda: self.now_s)

    def ask(self, want: Want, refusal: Refusal | None = None) -> bool:
        """Whether a request comes to the engine, which refuses it or not."""
        came = False
        with suppress(Refusal), self.turned_away.asking(want):
            came = True
            if refusal is not None:
                raise refusal
        return came


@pytest.fixture
def gate():
    found = Gate()
    assert found.ask(ANN, BUSY)
    found.now_s += 0.1
    return found


def test_the_same_is_told_the_same_with_less_time_to_wait(gate):
    with pytest.raises(Refusal, match=r"probably be missed \(as of 100 ms ago\)") as caught:
        with gate.turned_away.asking(ANN):
            pytest.fail("it came to the engine")
    assert caught.value.status == 429
    assert caught.value.retry_s == pytest.approx(6.9)


@pytest.mark.parametrize(
    ("want", "comes"),
    [
        (ANN._replace(tokens=51), False),
        (ANN._replace(limit_s=3.0), False),
        (ANN._replace(tokens=49), True),
        (ANN._replace(limit_s=4.1), True),
        (ANN._replace(limit_s=inf), True),
        (ANN._replace(user="bob"), True),
        (ANN._replace(slo="interactive"), True),
        (ANN._replace(size=1), True),
    ],
)
def test_only_what_is_no_easier_and_of_the_same_user_class_and_size(gate, want, comes):
    assert gate.ask(want) == comes


def test_it_is_remembered_for_a_moment(gate):
    gate.now_s += HOLDS_S
    assert gate.ask(ANN)


def test_of_a_short_limit_for_a_shorter_one():
    gate, hasty = Gate(), ANN._replace(limit_s=1.0)
    gate.ask(hasty, BUSY)
    gate.now_s += 0.04
    assert not gate.ask(hasty)
    gate.now_s += 0.02
    assert gate.ask(hasty)


def test_other_errors_are_not_remembered():
    gate = Gate()
    gate.ask(ANN, bad_request("no JSON"))
    assert gate.ask(ANN)


def test_not_more_are_remembered_than_there_is_room_for():
    gate = Gate()
    for number in range(MOST + 1):
        gate.ask(ANN._replace(user=f"user {number}"), BUSY)
    assert gate.ask(ANN._replace(user="user 0"))
    assert not gate.ask(ANN._replace(user="user 1"))


def test_a_gateway_spares_its_engine_what_that_has_refused(keyed, book, upstream):
    client, told = keyed.client(book.add("ann")), {"retry-after": "7"}
    upstream.refuses = 429, {"error": {"message": "its limit of 100 s will be missed"}}, told
    for _ in range(20):
        with pytest.raises(openai.RateLimitError, match="will be missed") as caught:
            chat(client, max_tokens=5, extra_body={"deadline": 100})
        assert 5 <= int(caught.value.response.headers["retry-after"]) <= 7
    assert len(upstream.asked) < 20
