"""The program for a GPU, on a CPU: every stage that needs none, on the embedded model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu.replay import VARIANTS, simulated_beside
from benchmarks.provenance import ROOT
from tests.forked import run_program

DRAWN = ["--relqueries", "6", "--max-rows", "6", "--warm-rows", "1", "--seeds", "1"]


def ran(*words: str, program: str = "benchmarks.gpu") -> str:
    command = [sys.executable, "-m", program, *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ran_with_vllm(*words: str, program: str) -> None:
    text = f"import runpy; runpy.run_module({program!r}, run_name='__main__', alter_sys=True)"
    done = run_program(text, *words, env=os.environ, has_vllm=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_dry_run_says_what_each_stage_would_take() -> None:
    lines = ran("serve", "--dry-run", "--models", "opt-13b", "llama-3-8b").splitlines()
    assert [line.split()[0] for line in lines] == ["stage", "kernels", "latency", "latency"]
    assert "llama-3-8b" in lines[3]


@pytest.mark.data
@pytest.mark.engine_of_its_own
def test_all_schedulers_serve_in_turns_on_one_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    traces = tmp_path / "traces.pickle"
    said = ran("draw", "--traces", str(traces), *DRAWN)
    if not traces.exists():
        pytest.skip(said)  # the shared tables are not here
    arguments = json.dumps({"max_num_seqs": 32, "max_num_batched_tokens": 512})
    limits = ["--arguments", arguments, "--kv-blocks", "500", "--minutes", "4"]
    told = ["--model", "embedded", "--traces", str(traces), "--out", str(tmp_path), "--seeds", "1", *limits]
    ran_with_vllm(*told, program="benchmarks.gpu.latency")
    file = tmp_path / "latency_embedded.json"
    details = json.loads(file.read_text(encoding="utf-8"))["details"]
    assert [run["variant"] for run in details["runs"]] == ["vllm", *VARIANTS]
    assert len({run["sha"] for run in details["runs"]}) == 1
    assert [run["leaked_blocks"] for run in details["runs"]] == [0] * 5
    beside = simulated_beside(details, traces)
    assert beside["outputs_equal"]
    assert set(beside["simulated_over_real"]) == set(VARIANTS)
