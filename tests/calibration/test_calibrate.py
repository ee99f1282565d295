"""`relserve calibrate`: its points, its fit, and a run on a real engine."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterator
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from relserve.calibration import run
from relserve.calibration.fitting import calibrate, kind_of, token_costs
from relserve.calibration.points import Point, TokenPoint, points, prompt_lengths, token_points
from relserve.errors import EngineStartError, ModelError
from relserve.policies.model.linear import CostModel
from relserve.policies.model.work import MeasuredStep, Work
from tests.command_line import relserve

TRUE = CostModel(8e-5, 4e-3, 2e-4, 3e-3, mixed_base_s=5e-3)


def step(tokens: float, decodes: float, seconds: float, **read: float) -> MeasuredStep:
    return MeasuredStep(Work(tokens, num_decodes=decodes, **read), seconds)


@pytest.mark.parametrize(
    ("max_tokens", "max_seqs"), [(1, 1), (2, 2), (16, 1), (48, 8), (2048, 256), (8192, 1000)]
)
def test_points_fit_the_engine_and_reach_its_limits(max_tokens: int, max_seqs: int) -> None:
    found = points(max_tokens, max_seqs)
    assert len(found) == len(set(found)) or max_tokens < 16
    for point in found:
        assert point.prefill_tokens + point.num_decodes > 0
        assert point.prefill_tokens <= max_tokens
        assert point.num_decodes <= max_seqs
        if point.prefill_tokens and point.num_decodes:
            assert point.num_decodes < max_seqs
            assert sum(point) <= max_tokens
    assert (max_tokens, 0) in found
    assert (0, max_seqs) in found


def test_a_round_cut_short_has_every_kind() -> None:
    first = points(4096, 128)[:9]
    assert {kind_of(step(*point, 1.0)) for point in first} == {"prefill", "decode", "mixed"}


@pytest.mark.parametrize(
    ("tokens", "max_rows", "longest"), [(1, 1, 9), (1000, 64, 1023), (5000, 3, 9000), (999, 500, 10)]
)
def test_prompts_make_up_the_prefill(tokens: int, max_rows: int, longest: int) -> None:
    lengths = prompt_lengths(tokens, max_rows, longest)
    assert sum(lengths) == tokens
    assert len(lengths) <= max_rows
    assert 0 < min(lengths) <= max(lengths) <= longest


def test_the_fit_comes_with_its_error_by_kind() -> None:
    rng = random.Random(1)
    samples = [step(*point, TRUE.step(*point) * rng.uniform(0.95, 1.05)) for point in points(2048, 64) * 8]
    found = calibrate(samples)
    assert found.model.prefill(1000) == pytest.approx(TRUE.prefill(1000), rel=0.05)
    assert found.model.decode(30) == pytest.approx(TRUE.decode(30), rel=0.05)
    assert set(found.quality) == {"prefill", "decode", "mixed"}
    assert sum(q.num_steps for q in found.quality.values()) == len(samples)
    assert 0.005 < found.median_error < 0.05
    assert run.table(found).row_count == 4


class Unmeasured:
    """An engine whose steps are told and take no time."""

    max_tokens, max_seqs, max_model_len, kv_tokens = 16, 2, 64, 300

    def __init__(self) -> None:
        self.recorder = SimpleNamespace(samples=[])

    def measure(self, point: Point) -> None:
        self.recorder.samples.append(step(*point, 1.0))

    def measure_tokens(self, points: list[TokenPoint]) -> Iterator[list[MeasuredStep]]:
        for point in points:
            yield [step(0, point.num_rows, 1.0)]


@pytest.mark.parametrize(
    ("measured", "first", "a_round"),
    [("measure", 0, len(points(16, 2))), ("measure_tokens", 1, len(token_points(2, 64, 300, 8)))],
)
def test_all_rounds_are_measured_unless_time_is_up(
    measured: str, first: int, a_round: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # as the worker sets it in its own process
    worker = import_module("relserve.calibration.worker")
    measure = getattr(worker, measured)
    assert len(measure(Unmeasured(), -1.0, StringIO())) == first
    assert len(measure(Unmeasured(), 3600.0, StringIO())) == worker.MAX_ROUNDS * a_round


def test_token_points_fit_the_engine() -> None:
    for max_seqs, longest, kv_tokens in ((256, 2048, 100_000), (4, 64, 300), (1, 8, 40)):
        found = token_points(max_seqs, longest, kv_tokens, 7)
        assert {point.cache for point in found} == {"kv", "hidden"}
        for point in found:
            assert 1 <= point.num_rows <= max_seqs
            assert point.num_tokens + 7 <= max(longest, 8)
            assert point.num_rows * (point.num_tokens + 7) <= max(kv_tokens, 8)


def test_the_cost_of_tokens_is_found_by_type() -> None:
    rng, samples = random.Random(1), []
    for point in token_points(64, 2048, 200_000, 7) * 8:
        read = point.num_rows * point.num_tokens
        seconds = TRUE.decode(point.num_rows) + read * (4e-7 if point.cache == "kv" else 9e-7)
        kv, hidden = (read, 0) if point.cache == "kv" else (0, read)
        samples.append(
            step(0, point.num_rows, seconds * rng.uniform(0.98, 1.02), kv_tokens=kv, hidden_tokens=hidden)
        )
    found = token_costs([*samples, step(100, 0, 5.0)])
    assert found == pytest.approx((4e-7, 9e-7), rel=0.1)
    assert run.hidden_table(found, TRUE).row_count == 2
    with pytest.raises(ValueError, match="at least 8 measured decodes, there are 3"):
        token_costs(samples[:3])


def test_too_few_steps_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least 8"):
        calibrate([step(10, 0, 1.0)])


@pytest.mark.parametrize(
    "name", ["./nowhere", "scripted", "http://127.0.0.1:1/v1", "/tmp", "openai/gpt-4o", "llama3.2:1b"]
)
def test_models_that_cannot_be_measured(name: str) -> None:
    with pytest.raises(ModelError, match=r"to calibrate: give 'tiny'.*Start here"):
        run.path_of(name)
    assert run.path_of("org/name") == "org/name"


def test_an_engine_that_ends_is_told_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken_worker.py"
    broken.write_text("import sys\nprint('{\"measured\": 1}', flush=True)\nraise ValueError('no memory')\n")
    monkeypatch.setattr(run, "WORKER", "broken_worker")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    told: list[dict[str, Any]] = []
    workers: list[subprocess.Popen[str]] = []
    popen = subprocess.Popen

    def noted(*args: Any, **kwargs: Any) -> subprocess.Popen[str]:
        workers.append(popen(*args, **kwargs))
        return workers[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    with pytest.raises(EngineStartError, match="ended: ValueError: no memory; its log is"):
        run.measure("org/name", {}, 1.0, tmp_path / "logs" / "log", told.append)
    assert told == [{"measured": 1}]
    (worker,) = workers
    assert (worker.stdin.closed, worker.stdout.closed) == (True, True)  # type: ignore[union-attr]


def test_a_file_elsewhere_is_told_with_the_setting_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [step(*point, TRUE.step(*point)) for point in points(2048, 64) * 8]
    measured = run.CalibrationSamples(samples, tmp_path / "own.json", [])
    monkeypatch.setattr(run, "measure", lambda *_: measured)
    out = tmp_path / "cost.json"
    said = relserve("calibrate", "--out", str(out)).stdout.decode()
    assert f"saved to {out}" in said
    assert f'"cost_path": "{out}"' in said
    assert CostModel.load(out).prefill(1000) == pytest.approx(TRUE.prefill(1000))


@pytest.mark.engine_of_its_own
@pytest.mark.vllm
def test_a_run_on_the_tiny_model_measures_steps_and_hidden_states(tmp_path: Path) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    arguments = {"max_num_seqs": 16, "max_num_batched_tokens": 512, "max_model_len": 256}
    done = relserve(
        "calibrate", "--seconds", "4",
        env={"RELSERVE_CACHE_DIR": str(tmp_path), "RELSERVE_ENGINE_ARGS": json.dumps(arguments)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout.decode()
    for part in ("512 tokens, 16 rows", "prefill", "decode", "mixed", "median error", "hidden states"):
        assert part in said
    costs, tokens = (Path(path) for path in re.findall(r"(?m)^saved to (.+)$", said))
    assert {costs.parent, tokens.parent} == {tmp_path / "cost"}
    model = CostModel.load(costs)
    assert 0 < model.step(1, 0) < model.step(500, 0) < 10
    assert 0 < model.step(0, 1) < 1
    assert all(0 <= seconds < 1e-3 for seconds in json.loads(tokens.read_text()).values())
    assert not list(tmp_path.glob("state/*/*")), "the measured engine left its status"
