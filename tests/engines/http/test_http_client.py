"""Who asks a server and by which way: keys, users in URLs, proxies, certificates."""

from __future__ import annotations

import asyncio
import gc
import logging
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientConnectorCertificateError, ClientError
from asking import ask
from http_fakes import Answered, FakeServer
from server_process import free_port
from yarl import URL

from relserve.engines.fleet.member import ApiPlace
from relserve.engines.fleet.ways import _client_of
from relserve.engines.http import client
from relserve.engines.http.client import JsonClient, StatusError, is_upgrade, proxy_of, why_no_response
from relserve.engines.http.engine import HttpEngine
from relserve.engines.http.server import base_url_of
from relserve.engines.loop import spawn
from relserve.errors import EngineStartError, RelserveError
from tests.waiting import PATIENCE_S

FAR = "http://there.example/v1"


async def echo(body: dict[str, Any]) -> Answered:
    return Answered(200, body)


async def by_rows(url: str) -> object:
    client = JsonClient(url, "sesame", 60)
    try:
        return await client.post("/completions", {"a": "\u00e9"})
    finally:
        await client.close()


async def by_chats(url: str) -> object:
    place = ApiPlace(url, "m", headers={"authorization": "Bearer sesame"})
    async with _client_of(place) as client, client.post(f"{url}/completions", json={"a": "\u00e9"}) as answer:
        return await answer.json()


@pytest.mark.parametrize("ask", [by_rows, by_chats])
def test_a_proxy_of_the_environment_is_asked_and_netrc_takes_no_keys_place(
    fake: Callable[..., FakeServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    ask: Callable[[str], Awaitable[object]],
) -> None:  # fmt: skip
    proxy = fake(echo)
    (tmp_path / "netrc").write_text("machine there.example login mallory password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
    assert spawn(ask(FAR)).result(timeout=PATIENCE_S) == {"a": "\u00e9"}
    assert proxy.requests[0][0] == f"{FAR}/completions"
    assert proxy.headers[0]["authorization"] == "Bearer sesame"


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        (FAR, {"http_proxy": "http://user:pw@proxy:3128"}, "http://user:pw@proxy:3128"),
        (FAR, {"all_proxy": "proxy:3128"}, "http://proxy:3128"),
        (FAR, {"https_proxy": "http://proxy"}, None),
        (FAR, {"http_proxy": "http://proxy", "no_proxy": "other.example,.example"}, None),
        ("http://here:8000", {"http_proxy": "http://proxy", "no_proxy": "here:8000"}, None),
        ("http://here:80", {"http_proxy": "http://proxy", "no_proxy": "here:8000"}, "http://proxy"),
        ("http://127.0.0.7:8000", {"http_proxy": "http://proxy"}, None),
        ("http://[::1]:8000", {"http_proxy": "http://proxy"}, None),
        ("http://localhost", {"all_proxy": "http://proxy"}, None),
    ],
)
def test_which_proxy(
    monkeypatch: pytest.MonkeyPatch, url: str, environ: dict[str, str], proxy: str | None
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert proxy_of(URL(url)) == (None if proxy is None else URL(proxy))


def test_a_user_in_the_url_takes_the_keys_place(fake: Callable[..., FakeServer]) -> None:
    server = fake(echo)
    spawn(by_rows(server.url.replace("//", "//me:pa%3Ass@"))).result(timeout=PATIENCE_S)
    assert server.headers[0]["authorization"] == "Basic bWU6cGE6c3M="  # me:pa:ss


@pytest.mark.parametrize(
    ("status", "body", "content_type", "told"),
    [
        (400, {"error": {"message": "no"}}, "application/json", {"message": "no"}),
        (404, {"detail": "none"}, "application/problem+json", {"detail": "none"}),
        (502, b" <html>\xff ", "text/html", "<html>\ufffd"),
        (304, b"", "text/plain", ""),
    ],
)
def test_what_is_no_success_is_an_error_with_what_it_says(
    fake: Callable[..., FakeServer], status: int, body: object, content_type: str, told: object
) -> None:
    async def handler(_: dict[str, Any]) -> Answered:
        return Answered(status, body, {"Retry-After": "7"}, content_type=content_type)

    with pytest.raises(StatusError) as raised:
        spawn(by_rows(fake(handler).url)).result(timeout=PATIENCE_S)
    assert (raised.value.status, raised.value.body) == (status, told)
    assert raised.value.headers["retry-after"] == "7"


def test_who_does_not_answer_is_told_in_the_systems_words() -> None:
    with pytest.raises(OSError, match="Cannot connect") as raised:
        spawn(by_rows(f"http://127.0.0.1:{free_port()}/v1")).result(timeout=PATIENCE_S)
    assert why_no_response(raised.value) == "Connection refused"


def test_the_machines_certificates_are_not_read_for_each_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssl, "create_default_context", pytest.fail)

    async def clients() -> None:
        for host in ("127.0.0.1", "there.example"):
            await JsonClient(f"https://{host}/v1", "none", 1.0).close()

    asyncio.run(clients())


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_engine_that_is_dropped_or_left_to_the_programs_end_says_nothing(
    fake: Callable[..., FakeServer], caplog: pytest.LogCaptureFixture
) -> None:
    async def leave_open() -> None:
        await JsonClient(fake_url, None, 60).post("/completions", {})

    fake_url = fake(echo).url
    spawn(leave_open()).result(timeout=PATIENCE_S)
    gc.collect()
    assert not caplog.records


@pytest.mark.parametrize("proxy", ["socks5://me:secret@127.0.0.1:1080", "http://me:secret@[::1"])
def test_a_proxy_that_cannot_be_used_is_told_without_its_password(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(EngineStartError, match=r"proxy .* for there\.example .* NO_PROXY") as raised:
        proxy_of(URL(FAR))
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("key", "sent"), [(" sk-1\r\n", "sk-1"), ("\n", "none"), ("sk\n1", None), ("sk\udcff", None)]
)
def test_a_key_is_sent_without_the_space_around_it(
    fake: Callable[..., FakeServer], key: str, sent: str | None
) -> None:
    server = fake(echo)

    async def ask() -> None:
        client = JsonClient(server.url, key, 60)
        await client.post("/completions", {})
        await client.close()

    if sent is None:
        with pytest.raises(EngineStartError, match="API key has control characters"):
            spawn(ask()).result(timeout=PATIENCE_S)
    else:
        spawn(ask()).result(timeout=PATIENCE_S)
        assert server.headers[0]["authorization"] == f"Bearer {sent}"


@pytest.mark.parametrize("tail", ["/v1?api-version=1", "?api-version=1", "/?api-version=1"])
def test_a_query_of_the_url_is_sent_with_each_path(fake: Callable[..., FakeServer], tail: str) -> None:
    server = fake(echo)
    spawn(by_rows(base_url_of(server.url.removesuffix("/v1") + tail))).result(timeout=PATIENCE_S)
    assert server.requests[0][0] == "/v1/completions?api-version=1"


def test_a_long_header_is_no_fault(fake: Callable[..., FakeServer]) -> None:
    async def handler(body: dict[str, Any]) -> Answered:
        return Answered(200, body, {"content-security-policy": "x" * 20_000})

    assert spawn(by_rows(fake(handler).url)).result(timeout=PATIENCE_S) == {"a": "\u00e9"}


@pytest.mark.parametrize("way", ["reads nothing", "sends crumbs"])
def test_a_request_ends_though_the_server(way: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if way == "sends crumbs":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while not writer.transport.is_closing():
                writer.write(b" ")
                await asyncio.sleep(0.02)
        await left.wait()
        writer.close()

    async def ask() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            client = JsonClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", None, 0.2)
            try:
                await client.post("/completions", "x" * 32_000_000 if way == "reads nothing" else "")
            finally:
                left.set()
                await client.close()

    left = asyncio.Event()
    with pytest.raises(TimeoutError):
        spawn(asyncio.wait_for(ask(), PATIENCE_S)).result(timeout=PATIENCE_S / 2)


@pytest.mark.parametrize(
    ("place", "why"), [("/v1/completions", "again and again"), ("ftp://x/y", "redirects to ftp://x/y")]
)
def test_redirects_that_lead_nowhere_are_told(fake: Callable[..., FakeServer], place: str, why: str) -> None:
    async def handler(_: dict[str, Any]) -> Answered:
        return Answered(307, "", {"location": place})

    with pytest.raises(ClientError) as raised:
        spawn(by_rows(fake(handler).url)).result(timeout=PATIENCE_S)
    assert why in why_no_response(raised.value)


@pytest.mark.parametrize("upgrades", [True, False])
def test_redirected_posts_keep_their_body_and_the_key_only_where_they_become_https(
    fake: Callable[..., FakeServer], monkeypatch: pytest.MonkeyPatch, upgrades: bool
) -> None:
    async def handler(_: dict[str, Any]) -> Answered:
        return Answered(308, "", {"location": f"{there.url}/completions"})

    there = fake(echo)
    origins = [URL("http://a.example"), URL("https://a.example/v1" if upgrades else "https://b.example/v1")]
    asked = is_upgrade(*origins)
    monkeypatch.setattr(client, "is_upgrade", lambda origin, url: asked and url.port == URL(there.url).port)
    assert spawn(by_rows(fake(handler).url)).result(timeout=PATIENCE_S) == {"a": "\u00e9"}
    assert there.headers[0].get("authorization") == ("Bearer sesame" if upgrades else None)


@pytest.mark.parametrize(
    ("origin", "url"),
    [
        ("https://a.example", "http://a.example/v1"),
        ("http://a.example", "https://a.example:8443/v1"),
        ("http://a.example:8080", "https://a.example/v1"),
        ("http://a.example", "http://a.example/v1"),
    ],
)
def test_what_is_no_way_from_http_to_https(origin: str, url: str) -> None:
    assert not is_upgrade(URL(origin), URL(url))


@pytest.mark.parametrize("user", ["me:secret@", "secret@", "me:se@secret@"])
def test_no_message_shows_who_a_url_names(
    fake: Callable[..., FakeServer], caplog: pytest.LogCaptureFixture, user: str
) -> None:
    async def refuse(_: dict[str, Any]) -> Answered:
        return Answered(401, {"error": {"message": "no"}})

    caplog.set_level(logging.INFO)
    server = fake(refuse)
    for url in (server.url, f"http://127.0.0.1:{free_port()}/v1", "http://h:65536/v1"):
        with pytest.raises(RelserveError, match=r"http://(127|h:)") as raised:
            ask(HttpEngine(url.replace("//", f"//{user}")), ["a"])
        assert "secret" not in str(raised.value) + caplog.text


def test_a_proxy_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("http_proxy", f"http://me:secret@{proxy}")
    with pytest.raises(ClientError) as raised:
        spawn(by_rows(FAR)).result(timeout=PATIENCE_S)
    assert why_no_response(raised.value) == f"the proxy {proxy} gives: Connection refused"


def test_a_certificate_that_is_not_trusted_is_told_with_what_to_set() -> None:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED]")
    error.verify_message = "self-signed certificate"
    why = why_no_response(ClientConnectorCertificateError(None, error))  # type: ignore[arg-type]
    assert "not trusted, self-signed certificate; SSL_CERT_FILE" in why
