"""How much users may ask."""

from __future__ import annotations

import threading

import httpx
import openai
import pytest

from tests.server.openai.chatting import chat
from tests.waiting import wait_until


def test_the_tokens_of_a_minute_are_used_up_for_one_user_alone(keyed, book):
    ann, bob = keyed.client(book.add("ann", tokens_per_minute=30)), keyed.client(book.add("bob"))
    chat(ann, max_tokens=40)  # the last one may go over
    with pytest.raises(
        openai.RateLimitError, match=r"has used the 30 tokens of a minute; more .* in"
    ) as caught:
        chat(ann)
    assert 1 <= int(caught.value.response.headers["retry-after"]) <= 62
    assert caught.value.code == "rate_limit_exceeded"
    chat(bob)
    wait_until(lambda: keyed.codes == {("ann", 200): 1, ("ann", 429): 1, ("bob", 200): 1})


def test_clients_are_told_not_to_wait_for_a_day(keyed, book):
    client = keyed.client(book.add("ann", tokens_per_day=8, tokens_per_minute=8), max_retries=5)
    chat(client)
    with pytest.raises(openai.RateLimitError, match="tokens of a day") as caught:
        chat(client)
    assert caught.value.response.headers["x-should-retry"] == "false"
    wait_until(lambda: keyed.codes == {("ann", 200): 1, ("ann", 429): 1})


def test_tokens_that_sql_has_used_count(keyed, book):
    client = keyed.client(book.add("ann", tokens_per_hour=100))
    keyed.quota.add("ann", 100)
    with pytest.raises(openai.RateLimitError, match="tokens of an hour"):
        chat(client)


def test_a_quota_of_nothing_is_never(keyed, book):
    with pytest.raises(openai.RateLimitError, match="may use no tokens") as caught:
        chat(keyed.client(book.add("ann", tokens_per_minute=0), max_retries=2))
    assert "retry-after" not in caught.value.response.headers


def test_requests_at_once(keyed, book, upstream):
    upstream.pause_s = 600.0
    key = book.add("ann", requests_at_once=2)
    first = [threading.Thread(target=lambda: chat(keyed.client(key), max_tokens=40)) for _ in range(2)]
    for each in first:
        each.start()
    wait_until(lambda: upstream.open == 2)
    with pytest.raises(openai.RateLimitError, match="may have 2 requests at once") as caught:
        chat(keyed.client(key))
    assert caught.value.response.headers["retry-after"] == "1"
    upstream.pause_s = 0.0
    chat(keyed.client(book.add("bob")), max_tokens=1)
    for each in first:
        each.join(60)
    chat(keyed.client(key), max_tokens=1)
    wait_until(lambda: keyed.codes == {("ann", 200): 3, ("ann", 429): 1, ("bob", 200): 1})


def test_every_answer_counts_as_a_request(keyed, book, upstream):
    client = keyed.client(book.add("ann", requests_at_once=2))
    with pytest.raises(openai.BadRequestError, match="asks for 3 answers, and user ann may have 2 requests"):
        client.completions.create(model="scripted", prompt=["a", "b", "c"])
    with pytest.raises(openai.BadRequestError, match="asks for 4 answers"):
        client.completions.create(model="scripted", prompt=["a", "b"], n=2)
    client.completions.create(model="scripted", prompt=["a", "b"])
    assert len(upstream.asked) == 1


def test_who_has_no_tokens_left_is_told_before_the_body_is_read(keyed, book):
    key = book.add("ann", tokens_per_minute=0)
    reply = httpx.post(
        keyed.url + "/chat/completions", content=b"no JSON", headers={"Authorization": f"Bearer {key}"}
    )
    assert reply.status_code == 429


@pytest.mark.long
def test_requests_at_once_do_not_spend_the_same_tokens(keyed, book, upstream):
    upstream.pause_s = 600.0
    key = book.add("ann", tokens_per_minute=50)
    first = threading.Thread(target=lambda: chat(keyed.client(key), max_tokens=60))
    first.start()
    wait_until(lambda: upstream.open == 1)
    with pytest.raises(openai.RateLimitError, match="under way, SQL among it, may use up the 50 tokens of a"):
        chat(keyed.client(key))
    upstream.pause_s = 0.0
    first.join(60)
    with pytest.raises(openai.RateLimitError, match="has used the 50 tokens"):
        chat(keyed.client(key))


def test_a_request_that_fails_claims_nothing_for_long(keyed, book, upstream):
    client = keyed.client(book.add("ann", tokens_per_minute=50))
    upstream.refuses = 400, {"error": {"message": "no"}}, {}
    for _ in range(3):
        with pytest.raises(openai.BadRequestError):
            chat(client, max_tokens=60)
    upstream.refuses = None
    chat(client, max_tokens=60)


def test_rows_of_sql_that_are_under_way_count(keyed, book):
    client = keyed.client(book.add("ann", tokens_per_minute=50))
    assert keyed.quota.claim("ann", (50, None, None), [60, 60]) == 1
    with pytest.raises(openai.RateLimitError, match="SQL among it"):
        chat(client)
    keyed.quota.release("ann", 60)
    chat(client)
