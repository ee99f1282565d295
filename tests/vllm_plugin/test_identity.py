"""What a request says of its relQuery, also when a stranger wrote it."""

from __future__ import annotations

import numpy as np
import pytest

from relserve.call import rel_tag
from relserve.call.rel_tag import MOST, RelTag
from relserve.errors import EngineStartError
from relserve.vllm_plugin.identity import LatestTag, identify
from relserve.vllm_plugin.version import check_version

ID = "rel-1.1.0-0123abcd"


def test_extra_args_name_the_relquery():
    args = {"rel_id": "rel-7", "rel_rows": 40, "rel_ol": 3}
    assert identify(ID, args, 16) == RelTag("rel-7", 40, 3)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"rel_id": "r", "rel_rows": "40", "rel_ol": "3"}, RelTag("r", 40, 3)),
        ({"rel_id": "r", "rel_rows": 40.0, "rel_ol": 2.9}, RelTag("r", 40, 2)),
        ({"rel_id": 5}, RelTag("5", 1, 16)),
        ({"rel_id": "r", "rel_rows": -1, "rel_ol": 0}, RelTag("r", 1, 16)),
        ({"rel_id": "r", "rel_rows": "many", "rel_ol": None}, RelTag("r", 1, 16)),
        ({"rel_id": "r", "rel_rows": float("inf"), "rel_ol": float("nan")}, RelTag("r", 1, 16)),
        ({"rel_id": "r", "rel_rows": [], "rel_ol": {}}, RelTag("r", 1, 16)),
        ({"rel_id": "r", "rel_rows": "1" + 400 * "0", "rel_ol": 1e300}, RelTag("r", MOST, 16)),
        ({"rel_id": "r", "rel_rows": 10**9, "rel_ol": 10**12}, RelTag("r", MOST, 16)),
        ({"rel_id": "r", "rel_rows": True}, RelTag("r", 1, 16)),
        ({"rel_id": "r", "rel_ol": 99}, RelTag("r", 1, 16)),  # no more than max_tokens
        ({"rel_id": ""}, RelTag(ID, 1, 16, is_named=False)),
        ({"rel_id": ["r"]}, RelTag(ID, 1, 16, is_named=False)),
        ({}, RelTag(ID, 1, 16, is_named=False)),
        (None, RelTag(ID, 1, 16, is_named=False)),
        ("rel_id", RelTag(ID, 1, 16, is_named=False)),
    ],
)
def test_nonsense_is_left_aside(args, expected):
    assert identify(ID, args, 16) == expected


def test_an_absurd_number_is_logged_once(caplog):
    rel_tag._log_absurd.cache_clear()
    for rows in (10**9, 10**10, "1" + 100 * "0"):
        assert identify(ID, {"rel_id": "r", "rel_rows": rows}, 16).rows == MOST
    (record,) = caplog.records
    assert "rel_rows of more than 10,000,000" in record.getMessage()


@pytest.mark.parametrize("max_tokens", [None, 0, -5])
def test_a_missing_cap_is_one_token(max_tokens):
    assert identify(ID, None, max_tokens).output_cap == 1


def test_a_list_of_prompts_in_one_http_call_is_one_relquery():
    rows = [identify(f"cmpl-8a4f-b1-{i}-0123abcd", None, 4).rel_id for i in range(3)]
    assert rows == ["cmpl-8a4f-b1"] * 3
    other = identify("cmpl-8a4f-b2-0-0123abcd", None, 4).rel_id
    assert other not in rows


def test_a_chat_call_is_a_relquery_of_its_own():
    assert identify("chatcmpl-8a4f-0-0123abcd", None, 4).rel_id == "chatcmpl-8a4f-0-0123abcd"


@pytest.mark.parametrize("version", ["0.26.0", "0.32.0+cpu", "0.33.1.dev12+gabc"])
def test_tested_versions_pass(version):
    check_version(version)


@pytest.mark.parametrize("version", ["0.25.9", "0.34.0", "1.0.0", "0.6.6", "dev", ""])
def test_other_versions_are_refused_with_the_range(version):
    with pytest.raises(EngineStartError, match=rf"tested with vLLM 0\.26 to 0\.33, this is {version}"):
        check_version(version)


def test_a_tag_that_comes_again_is_read_once_and_another_one_anew() -> None:
    read = LatestTag()
    first = read({"rel_id": "a", "rel_rows": 3}, 16)
    assert first == RelTag("a", 3, 16)
    assert read({"rel_id": "a", "rel_rows": 3}, 16) is first
    assert read({"rel_id": "a", "rel_rows": 3}, 8) == RelTag("a", 3, 8)
    assert read({"rel_id": "a", "rel_rows": 4}, 8) == RelTag("a", 4, 8)
    assert read(None, 8) is None
    for _ in range(2):
        assert read({"rel_id": "b", "mask": np.zeros(3)}, 8) == RelTag("b", 1, 8)
