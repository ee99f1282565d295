"""What an engine learns of its steps' times, and leaves for the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from relserve.machine.cost_file import cost_path, find_cost, learnt_cost_path
from relserve.policies.model.linear import CostModel
from relserve.policies.model.online import FixedCost, OnlineCost
from relserve.policies.model.work import Work
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.kept_cost import KeptCost
from relserve.vllm_plugin.settings import FIRST_GUESS, read
from tests.modules import later
from tests.waiting import wait_until

testing = later("lab.made_up_worker")

TRUE = FIRST_GUESS.scaled(75.0)  # as of a model of 135 M parameters, which the first guess knows nothing of
STEERED = {"relserve": {"variant": "dpu+marginal"}}


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("RELSERVE_KEEP_LEARNT", "1")


def measure(cost: OnlineCost, file: KeptCost, num_steps: int) -> None:
    for step in range(num_steps):
        tokens, decodes = (0, 5) if step % 3 else (200, 0)
        cost.add(Work(tokens, num_decodes=decodes), TRUE.step(tokens, decodes))
        file.tick(cost)


def test_the_next_engine_begins_with_what_the_one_before_learnt() -> None:
    assert read(STEERED, "org/name").first_cost == FIRST_GUESS
    path = Path(read(STEERED, "org/name").learnt_cost_path)
    cost = OnlineCost(FIRST_GUESS)
    file = KeptCost(path, cost)
    measure(cost, file, 64)
    file.close()
    settings = read(STEERED, "org/name")
    assert settings.first_cost == cost.model
    assert settings.first_cost.step(200, 0) == pytest.approx(TRUE.step(200, 0), rel=0.1)
    assert find_cost("org/name") == str(path) == settings.learnt_cost_path
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_it_is_written_while_the_engine_runs() -> None:
    path = learnt_cost_path("org/name")
    cost = OnlineCost(FIRST_GUESS)
    file = KeptCost(path, cost, every_s=0.01)
    measure(cost, file, 64)
    wait_until(path.exists)
    file.close()


def test_what_it_began_with_is_no_news_and_a_model_that_foresees_nothing_is_not_kept() -> None:
    path = learnt_cost_path("org/name")
    cost = OnlineCost(FIRST_GUESS)
    file = KeptCost(path, cost, every_s=0.01)
    file.tick(cost)
    for step in range(32):  # each a thousand times the one before or a thousandth of it
        cost.add(Work(200), 1e-3 * 1000 ** (step % 2))
        file.tick(cost)
    file.close()
    assert not path.exists()


def test_a_calibration_goes_before_and_nothing_is_written_beside_it() -> None:
    CostModel(1e-5, 2e-3, 3e-5, 4e-3, 5e-3).save(learnt_cost_path("org/name"))
    TRUE.save(cost_path("org/name"))
    settings = read(STEERED, "org/name")
    assert settings.first_cost == TRUE
    assert settings.learnt_cost_path == ""


def test_where_nothing_is_to_be_kept_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    TRUE.save(learnt_cost_path("org/name"))
    monkeypatch.setenv("RELSERVE_KEEP_LEARNT", "0")
    settings = read(STEERED, "org/name")
    assert (settings.first_cost, settings.learnt_cost_path) == (FIRST_GUESS, "")


def test_a_broken_file_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    path = learnt_cost_path("org/name")
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert read(STEERED, "org/name").first_cost == FIRST_GUESS
    assert "cannot be used" in caplog.text


@pytest.mark.vllm
def test_a_scheduler_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "learnt.json"
    scheduler = testing.scheduler_of(str(MODEL_DIR), "dpu+marginal", False, 400, learnt_cost_path=str(path))
    arrivals = [
        testing.MadeUpArrival(0, f"r{i}", [100 + i] * 60, 40, {"rel_id": "r", "rel_rows": 9})
        for i in range(9)
    ]
    # For a made-up worker's steps take what the machine likes.
    scheduler.steering.planner.driver.cost = FixedCost(TRUE)
    testing.run(scheduler, arrivals, False)
    scheduler.shutdown()
    assert CostModel.load(path) == TRUE
