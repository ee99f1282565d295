"""Calls of DuckDB's extension, whose statements nobody sees: a server that SQL names has to be allowed."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

import pytest

from relserve.engines.scripted import ScriptedEngine
from relserve.errors import ForbiddenError
from relserve.resident.caller import ExtensionConnection
from relserve.resident.request import ResidentRequest
from relserve.session.model_hosts import ModelHosts
from relserve.session.session import Session

URL = "http://gpu.example:8000/v1"


def answered(hosts: Sequence[str], model: str) -> list[str | None]:
    """Which models were looked for by a call that names one."""
    named: list[str | None] = []

    def find(name: str | None) -> ScriptedEngine:
        named.append(name)
        return ScriptedEngine(model=name or "default")

    options = json.dumps({"model": model})
    asked = {"ask": "rows", "rows": 1, "function": "llm", "template": "Hello", "options": options}
    text = json.dumps({**asked, "values": 0, "statement": 1}).encode()
    caller = ExtensionConnection(Session(find, model_hosts=ModelHosts(["tiny"], hosts)), None)
    caller.answer(ResidentRequest(struct.pack("<I", len(text)) + text, lambda kind, said: None, False))
    return named


def test_a_server_is_asked_where_the_settings_allow_it() -> None:
    assert set(answered(["gpu.example"], URL)) == {URL}
    assert set(answered([], "scripted")) == {"scripted"}


@pytest.mark.parametrize("model", [URL, "fleet:theirs.toml", "https://gpu.example/v1"])
def test_any_other_is_not(model: str) -> None:
    with pytest.raises(ForbiddenError, match="stands in no statement of yours"):
        answered(["other.example"], model)
