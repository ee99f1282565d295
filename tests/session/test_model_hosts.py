"""Which servers SQL may name: the caller's own, and those that were allowed."""

from __future__ import annotations

from typing import Any

import pytest

from relserve.errors import ForbiddenError
from relserve.session.model_hosts import ModelHosts

URL = "http://other.example:8000/v1#big"


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        (f"SELECT llm('a', model := '{URL}')", None),
        (f"SELECT llm('it''s', model := '{URL}')", None),
        (f"SELECT llm('a', model := $${URL}$$)", None),
        ("SELECT llm('a', model := ?)", [URL]),
        ("SELECT llm('a', model := $m)", {"m": URL, "n": 3}),
        ("SELECT llm('a', model := 'http://OTHER.example:8000')", None),
    ],
)
def test_what_the_caller_writes_as_a_value_may_be_asked_from_then_on(text: str, parameters: Any) -> None:
    hosts = ModelHosts()
    with pytest.raises(ForbiddenError, match=r"RELSERVE_MODEL_HOSTS=other\.example:8000"):
        hosts.check(URL)
    hosts.note(text, parameters)
    hosts.check(URL)


@pytest.mark.parametrize(
    "text",
    [
        f"INSERT INTO notes VALUES ('see {URL} for more')",
        f"SELECT 1 -- '{URL}'",
        f"SELECT /* '{URL}' */ 1",
        f"""SELECT * FROM "'{URL}'" """,
        f"SELECT 'x'{URL}'y'",
        "SELECT llm('a', model := 'http://other.example:8001/v1')",
        "SELECT llm('a', model := 'https://other.example/v1')",
        "SELECT llm('a', model := 'http://other.example:8000@third.example/v1')",
    ],
)
def test_nothing_else_in_a_text_names_a_server(text: str) -> None:
    hosts = ModelHosts()
    hosts.note(text)
    with pytest.raises(ForbiddenError, match="stands in no statement of yours"):
        hosts.check(URL)


def test_the_default_models_server_and_allowed_hosts_may_be_asked() -> None:
    hosts = ModelHosts([None, "tiny", URL], ["gpu.example", "cpu.example:9"])
    for model in (None, "tiny", "/a/folder", "org/name", "scripted", "http://other.example:8000"):
        hosts.check(model)
    for model in ("https://gpu.example/v1", "http://gpu.example:1", "http://cpu.example:9/v1"):
        hosts.check(model)
    for model in (
        "http://cpu.example:8",
        "http://user@third.example",
        "http://gpu.example.evil/v1",
        "http://[",
    ):
        with pytest.raises(ForbiddenError):
            hosts.check(model)
    ModelHosts(hosts=["*"]).check(URL)


def test_a_fleet_is_named_by_its_file() -> None:
    hosts = ModelHosts(["fleet:mine.toml"], ["*"])
    hosts.check("fleet:mine.toml")
    with pytest.raises(ForbiddenError, match=r"fleet:theirs\.toml"):
        hosts.check("fleet:theirs.toml")
    hosts.note("SELECT llm('a', model := 'fleet:theirs.toml')")
    hosts.check("fleet:theirs.toml")
