"""The scheduler's settings: which guard is on."""

from __future__ import annotations

from pathlib import Path

import pytest

from relserve.errors import UsageError
from relserve.vllm_plugin.settings import SchedulerSettings, read


def test_the_papers_guard_replaces_ours() -> None:
    assert read({}).patience == SchedulerSettings().patience > 0
    settings = read({"relserve": {"starvation_s": 10.0}})
    assert (settings.starvation_s, settings.patience) == (10.0, 0.0)


def test_both_guards_are_refused() -> None:
    with pytest.raises(UsageError, match="leave one of them out"):
        read({"relserve": {"starvation_s": 10.0, "patience": 2.0}})


@pytest.mark.parametrize("variant", ["dpu+aba", "static+pp", "hexgen"])
def test_a_published_variant_has_our_guard_only_where_it_is_asked_for(variant: str) -> None:
    assert read({"relserve": {"variant": variant}}).patience == 0.0
    assert read({"relserve": {"variant": variant, "patience": 3.0}}).patience == 3.0
    assert read({"relserve": {"variant": "dpu+marginal"}}).patience > 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"prefill_per_token_s": 0, "prefill_base_s": 1, "decode_per_request_s": 1, "decode_base_s": 1}',
         "prefill_per_token_s is a number of seconds above 0, not 0"),
        ('{"prefill_per_token_s": NaN, "prefill_base_s": 1, "decode_per_request_s": 1, "decode_base_s": 1}',
         "not nan"),
        ('{"seconds": 1}', "unexpected keyword"),
        ("half a fi", "Expecting value"),
        (None, "No such file"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_cost_model_is_refused(text: str | None, why: str, tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=why) as raised:
        read({"relserve": {"cost_path": str(path)}})
    assert str(raised.value).startswith(f"cost_path: {path} holds no cost model")
