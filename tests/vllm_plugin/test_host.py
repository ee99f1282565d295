"""The seam to vLLM: one file, and what it hides."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import relserve
from relserve.policies.model.work import Work
from relserve.vllm_plugin import host
from relserve.vllm_plugin.step_work import work_of

PACKAGE = Path(relserve.__file__).parent
VLLM_FILES = ("batches", "cache/vllm_parts", "engines", "host", "openai_app")


def test_no_other_file_imports_vllm() -> None:
    imports = re.compile(r"^\s*(import vllm|from vllm)\b", re.MULTILINE)
    found = [path for path in PACKAGE.rglob("*.py") if imports.search(path.read_text(encoding="utf-8"))]
    names = sorted(path.relative_to(PACKAGE).as_posix() for path in found)
    assert names == [f"vllm_plugin/{name}.py" for name in VLLM_FILES]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Sheduler'"):
        host.Sheduler  # noqa: B018


@pytest.mark.parametrize("name", ["max_num_active_reqs", "max_num_running_reqs"])
def test_the_cap_on_admissions_has_two_names(name: str) -> None:
    scheduler = SimpleNamespace(max_num_running_reqs=8, **({name: 5} if "active" in name else {}))
    before = host.admission_cap(scheduler)
    host.set_admission_cap(scheduler, 3)
    assert (before, getattr(scheduler, name)) == (5 if "active" in name else 8, 3)
    assert host.admission_cap(scheduler) == 3


def test_a_queue_of_skipped_rows_is_replaced_where_there_is_one() -> None:
    old, new = SimpleNamespace(waiting=0, skipped_waiting=0), SimpleNamespace(waiting=0)
    for scheduler in (old, new):
        host.set_queue(scheduler, "queue", "forwarding")
    assert (old.waiting, old.skipped_waiting, new.waiting) == ("queue", "forwarding", "queue")
    assert not hasattr(new, "skipped_waiting")


@pytest.mark.parametrize(("groups", "tokens"), [(1, 3200), (6, 533)])
def test_a_token_takes_room_in_every_group_of_layers(groups: int, tokens: int) -> None:
    pool = SimpleNamespace(num_gpu_blocks=100, get_num_free_blocks=lambda: 50)
    manager = SimpleNamespace(block_pool=pool, num_kv_cache_groups=groups)
    scheduler = SimpleNamespace(kv_cache_manager=manager, block_size=32)
    assert (host.num_kv_tokens(scheduler), host.num_free_kv_tokens(scheduler)) == (tokens, tokens // 2)


def test_the_work_of_a_mixed_step() -> None:
    requests = {
        "decodes": SimpleNamespace(num_computed_tokens=51, num_prompt_tokens=50),
        "begins": SimpleNamespace(num_computed_tokens=30, num_prompt_tokens=80),
        "ends": SimpleNamespace(num_computed_tokens=80, num_prompt_tokens=80),
    }
    output = SimpleNamespace(num_scheduled_tokens={"decodes": 1, "begins": 30, "ends": 20})
    pairs, cached_pairs = 30 * 31 / 2 + 20 * 60 + 20 * 21 / 2, 20 * 60
    work = Work(50, 2, 1, 50 + 60, pairs, cached_pairs, kv_tokens=50)
    assert work_of(output, requests) == work == work_of(output, requests, lambda _: "kv")
    hidden = work_of(output, requests, lambda _: "hidden")
    assert hidden == work._replace(kv_tokens=0, hidden_tokens=50, made_tokens=60)
