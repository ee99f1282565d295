"""How long answers get, as a local engine tells its scheduler, and learns for the next one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from relserve.call.options import Options, parse_options
from relserve.call.relquery import Submission, new_rel_id, sampling_of
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.sampling import sampling_params
from relserve.engines.loop import spawn
from relserve.machine.length_file import lengths_path
from relserve.tiny import MODEL_DIR
from tests.engines.asking import TIMEOUT_S, ask, collect
from tests.waiting import wait_until

pytestmark = pytest.mark.vllm


def told(engine: LocalEngine, function: str, **options: Any) -> tuple[Any, Any, Any]:
    """What the scheduler hears of a call: its kind, cap and the most tokens that are likely."""
    assert engine.running is not None
    sampling = sampling_of(function, parse_options(function, options))
    args = sampling_params(engine.running, Submission("r", ["a"], sampling, kind="k"), 1).extra_args
    return args["rel_kind"], args["rel_ol"], args.get("rel_likely")


def test_the_tokenizer_says_how_long_numbers_and_choices_get(local_engine: LocalEngine) -> None:
    ask(local_engine, ["Hello."])
    assert local_engine.running is not None
    num_tokens = local_engine.running.encoder.num_tokens
    wanted = max(num_tokens(["positive", " positive"])) + 1
    assert told(local_engine, "llm", choices=["positive", "bad"]) == ("k", wanted, wanted)
    numbers = max(num_tokens(["-1000.00", " -1000.00", "2000.50", " 2000.50"])) + 1
    kind, cap, likely = told(local_engine, "llm_score", lo=-1000, hi=2000.5, max_tokens=500)
    assert (kind, cap, likely) == ("k", 500, numbers)
    assert told(local_engine, "llm", max_tokens=500) == ("k", 500, None)


@pytest.mark.long
def test_what_one_engine_learnt_the_next_one_begins_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_KEEP_LEARNT", "1")
    engine = LocalEngine("tiny", str(MODEL_DIR), log_path=tmp_path / "engine.log")
    assert not engine.find_lengths().kinds
    prompts = [f"Was number {i} a good evening?" for i in range(40)]
    first = Submission(new_rel_id(), prompts, sampling_of("llm", Options(max_tokens=200)), kind="first")
    replies = [
        spawn(collect(engine, each)).result(timeout=TIMEOUT_S)
        for each in (first, replace(first, rel_id=new_rel_id(), kind="second"))
    ]
    wait_until(lambda: list(engine.find_lengths().kinds) == ["first", "second"])  # its end may take 2 s
    spawn(engine.close()).result(timeout=TIMEOUT_S)
    known = engine.find_lengths()
    mean = sum(reply.usage.output_tokens for reply in replies[0]) / len(prompts)
    assert known.of("first", 200).row == pytest.approx(mean, rel=0.2)
    assert [path.name for path in lengths_path(str(MODEL_DIR)).parent.iterdir()] == [
        lengths_path(str(MODEL_DIR)).name
    ]
