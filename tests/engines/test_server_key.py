"""The API key of the settings goes to the servers that it was given for, and to no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from asking import ask
from http_fakes import Answered, FakeServer, said

from relserve.engines.keys import server_key
from relserve.engines.registry import Engines
from relserve.errors import EngineStartError
from relserve.settings import load

OURS, THEIRS = "http://ours.example:8000/v1", "http://theirs.example/v1"
OPENAI = "https://api.openai.com/v1#gpt"


@pytest.mark.parametrize(
    ("environ", "is_named", "gets"),
    [
        ({"RELSERVE_MODEL": OURS}, False, {OURS}),
        ({"RELSERVE_MODEL": OURS}, True, {OURS}),  # a program that names another one says so in the settings
        ({}, True, {OURS, THEIRS, OPENAI}),
        ({}, False, set()),
        ({"RELSERVE_MODEL": "fleet:f.toml"}, False, set()),
        ({"RELSERVE_API_KEY_HOSTS": "theirs.example"}, True, {THEIRS}),
        ({"RELSERVE_API_KEY_HOSTS": "ours.example:8001, THEIRS.example:80"}, False, {THEIRS}),
        ({"RELSERVE_API_KEY_HOSTS": "default,theirs.example", "RELSERVE_MODEL": OURS}, False, {OURS, THEIRS}),
        ({"RELSERVE_API_KEY_HOSTS": "*"}, False, {OURS, THEIRS, OPENAI}),
        ({"RELSERVE_API_KEY": "", "OPENAI_API_KEY": "k"}, False, {OPENAI}),
        ({"RELSERVE_API_KEY": "", "OPENAI_API_KEY": "k", "RELSERVE_MODEL": OURS}, False, {OURS, OPENAI}),
    ],
)
def test_which_servers_get_the_key(environ: Mapping[str, str], is_named: bool, gets: set[str]) -> None:
    settings = load({"RELSERVE_API_KEY": "k", **environ})
    found = {url: server_key(url, settings, is_named) for url in (OURS, THEIRS, OPENAI)}
    assert {url for url, key in found.items() if key.text == "k"} == gets
    assert {url for url, key in found.items() if key.is_withheld} == set(found) - gets


@pytest.mark.parametrize(
    "url",
    [
        "http://ours.example:8000@theirs.example/v1",
        "http://ours.example:8000.theirs.example/v1",
        "http://theirs.example/ours.example:8000",
        "http://ours.example/v1",
        "https://ours.example/v1",
        "http://ours.example:8000\\@theirs.example/v1",
        "http://[::1]:8000/v1",
        "http://ours.example:bad/v1",
    ],
)
def test_a_url_that_looks_like_ours_does_not_get_it(url: str) -> None:
    settings = load({"RELSERVE_API_KEY": "k", "RELSERVE_MODEL": OURS})
    assert server_key(url, settings, is_named=True).text is None


async def hello(body: dict[str, Any]) -> Answered:
    return said("hello")


def test_a_server_that_only_sql_names_is_asked_without_it(fake: Callable[..., FakeServer]) -> None:
    server = fake(hello)
    engines, settings = Engines(), load({"RELSERVE_API_KEY": "sesame"})
    engine = engines.find(server.url, settings)
    ask(engine, ["a"])
    assert [headers["authorization"] for headers in server.headers] == ["Bearer none"]
    engines.close()
    engines.find(server.url, settings, is_named=True)
    ask(engines.find(server.url, settings), ["a"])
    assert server.headers[-1]["authorization"] == "Bearer sesame"
    engines.close()


def test_a_server_that_wants_a_key_gets_it_once_a_program_names_it(fake: Callable[..., FakeServer]) -> None:
    server = fake(hello, models={"error": {"message": "who are you?"}}, models_status=401)
    engines, settings = Engines(), load({"RELSERVE_API_KEY": "sesame"})
    engine = engines.find(server.url, settings)
    with pytest.raises(EngineStartError, match=r"none was sent.*RELSERVE_API_KEY_HOSTS=127\.0\.0\.1:\d+"):
        ask(engine, ["a"])
    assert engines.find(server.url, settings, is_named=True) is engine
    with pytest.raises(EngineStartError, match="refused the API key"):
        ask(engine, ["a"])
    engines.close()
