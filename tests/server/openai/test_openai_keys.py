"""Who may ask: keys, models, and this machine alone where there are none."""

from __future__ import annotations

import json
import os
from typing import Any

import httpx
import openai
import pytest

from tests.server.openai.chatting import HI, chat
from tests.server.openai.gateways import KEY
from tests.waiting import wait_until


def test_a_key_is_its_users(keyed, book, upstream):
    ann, bob = book.add("ann"), book.add("bob")
    chat(keyed.client(ann))
    chat(keyed.client(bob), max_tokens=5)
    wait_until(lambda: keyed.codes == {("ann", 200): 1, ("bob", 200): 1})
    entering = [json.loads(headers["x-relserve-enters"])["user"] for _, headers in upstream.asked]
    assert entering == ["ann", "bob"]


@pytest.mark.parametrize("key", [KEY, "ü", "sk-relserve-" + "a" * 5000])
def test_another_key_is_refused_in_openais_words(keyed, book, key):
    book.add("ann")
    reply = httpx.post(
        f"{keyed.url}/chat/completions", json={}, headers={"Authorization": f"Bearer {key}".encode()}
    )
    error = reply.json()["error"]
    assert (reply.status_code, error["code"], error["param"]) == (401, "invalid_api_key", None)
    with pytest.raises(openai.AuthenticationError):
        keyed.client().models.list()
    wait_until(lambda: keyed.codes == {("unknown", 401): 2})


def test_no_key_is_refused(keyed):
    assert httpx.get(f"{keyed.url}/models").status_code == 401
    assert httpx.get(f"{keyed.url}/models", headers={"Authorization": "Basic eDp4"}).status_code == 401


def test_a_user_that_is_removed_is_refused_at_once(keyed, book):
    client = keyed.client(book.add("ann"))
    chat(client)
    book.remove("ann")
    with pytest.raises(openai.AuthenticationError):
        chat(client)


def test_a_file_that_became_readable_by_others_lets_nobody_in(keyed, book):
    client = keyed.client(book.add("ann"))
    os.chmod(book.path, 0o644)
    with pytest.raises(openai.InternalServerError, match="cannot see whose key this is") as caught:
        chat(client)
    assert caught.value.status_code == 503


def test_a_users_models_are_those_that_are_listed(keyed, book, upstream):
    ann, bob = keyed.client(book.add("ann")), keyed.client(book.add("bob", models=frozenset(["other"])))
    assert [each.id for each in ann.models.list()] == ["scripted"]
    card: Any = ann.models.retrieve("scripted")
    assert (card.owned_by, card.max_model_len) == ("relserve", upstream.context)
    assert [each.id for each in bob.models.list()] == []
    for ask in (lambda: bob.models.retrieve("scripted"), lambda: chat(bob), lambda: chat(ann, model="gpt-5")):
        with pytest.raises(openai.NotFoundError) as caught:
            ask()
        assert caught.value.code == "model_not_found"
    assert not upstream.asked


def test_without_keys_only_this_machines_own_names_are_answered_to(gateway):
    port = gateway.port
    ask = {"json": {"model": "scripted", "messages": HI}}
    assert httpx.post(f"{gateway.url}/chat/completions", **ask).status_code == 200
    rebound = httpx.post(f"{gateway.url}/chat/completions", headers={"Host": f"evil.example:{port}"}, **ask)
    assert (rebound.status_code, rebound.json()["error"]["type"]) == (403, "permission_error")


def test_what_a_web_page_can_send_unasked_is_refused(gateway, upstream):
    body = json.dumps({"model": "scripted", "messages": HI})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        reply = httpx.post(f"{gateway.url}/chat/completions", content=body, headers={"Content-Type": kind})
        assert (reply.status_code, reply.json()["error"]["type"]) == (400, "invalid_request_error")
    assert not upstream.asked


def test_load_balancers_need_no_key(keyed):
    assert httpx.get(keyed.url.removesuffix("/v1") + "/health").status_code == 200


@pytest.mark.parametrize(("path", "status"), [("/health", 200), ("/v1/models", 401), ("/nothing", 401)])
def test_no_socket_is_kept_of_strangers(keyed, book, path, status):
    address, known = keyed.url.removesuffix("/v1"), {"Authorization": f"Bearer {book.add('ann')}"}
    reply = httpx.get(address + path)
    assert (reply.status_code, reply.headers["connection"]) == (status, "close")
    assert httpx.get(f"{address}/v1/models", headers=known).headers.get("connection") != "close"


def test_nobody_shares_what_the_engine_has_of_a_prompt(keyed, book, upstream):
    ann, bob = book.add("ann"), book.add("bob")
    own = {"cache_salt": "a"}
    for secret, given in ((ann, {}), (ann, {}), (bob, {}), (ann, own), (bob, own)):
        chat(keyed.client(secret), extra_body=given)
    anns, again, bobs, anns_own, bobs_own = (body["cache_salt"] for body, _ in upstream.asked)
    assert anns == again
    assert len({anns, bobs, anns_own, bobs_own}) == 4
    assert all(len(salt) == 64 and salt.isalnum() for salt in (anns, bobs, anns_own, bobs_own))
    with pytest.raises(openai.BadRequestError, match="cache_salt is a text"):
        chat(keyed.client(ann), extra_body={"cache_salt": 1})


def test_without_keys_a_salt_is_the_clients_own(gateway, upstream):
    for given in ({}, {"cache_salt": "a"}):
        chat(gateway.client(), extra_body=given)
    assert [body.get("cache_salt") for body, _ in upstream.asked] == [None, "a"]


@pytest.mark.parametrize("host", ["x/v1/models?", "localhost.evil.example", "127.0.0.1@evil", "localhost/"])
def test_only_this_machines_own_names_are_answered_to(gateway, host):
    assert httpx.get(f"{gateway.url}/models", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["x/v1/models?", "x/health?"])
def test_a_host_does_not_stand_for_a_path(keyed, book, host):
    headers = {"Host": host, "Authorization": f"Bearer {book.add('ann')}"}
    assert httpx.get(f"{keyed.url}/nothing", headers=headers).status_code == 404
