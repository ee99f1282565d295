"""RELSERVE_ENGINE_ARGS tells vLLM's web app as well: what is of whom, and what cannot be."""

from __future__ import annotations

import json

import pytest

from relserve.engines.registry import engine_args_of
from relserve.errors import UsageError
from relserve.settings import load

GIVEN = {"max_num_seqs": 8, "openai": {"tool_call_parser": "hermes"}}


@pytest.mark.parametrize("more", [{}, {"RELSERVE_KV_CACHE": "hybrid"}], ids=["plain", "with ours"])
def test_the_web_app_and_the_engine_get_their_own(more: dict[str, str]) -> None:
    settings = load({"RELSERVE_ENGINE_ARGS": json.dumps(GIVEN), **more})
    assert settings.openai_args == {"tool_call_parser": "hermes"}
    args = engine_args_of(settings)
    assert args["max_num_seqs"] == 8
    assert "openai" not in args
    assert load({}).openai_args == {}


def test_what_is_no_object_is_told() -> None:
    with pytest.raises(UsageError, match=r'RELSERVE_ENGINE_ARGS=.* cannot be read: .*"openai"'):
        load({"RELSERVE_ENGINE_ARGS": '{"openai": ["hermes"]}'})


def test_the_setting_of_before_says_where_to_put_it() -> None:
    with pytest.raises(UsageError, match=r"RELSERVE_OPENAI_ARGS is no setting .* RELSERVE_ENGINE_ARGS, as"):
        load({"RELSERVE_OPENAI_ARGS": "{}"})
