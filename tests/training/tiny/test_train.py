"""Training goes on after a kill as if nothing had happened, and exports a model that loads."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.modules import later

plan = later("training.tiny.plan")
torch = later("torch")
train = later("training.tiny.train")
trainer = later("training.tiny.trainer")
transformers = later("transformers")


def micro() -> plan.TrainingPlan:
    """A plan of six steps of a model that trains within seconds."""
    return plan.TrainingPlan(
        Path(), minutes=60.0, max_steps=6, batch_tokens=256, easy_pools=1, hidden=32, layers=2, heads=2,
        intermediate=48, vocab=400, tokenizer_examples=60, save_every_s=0.0,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.long
def test_resumed_training_equals_training_in_one_go(tmp_path: Path) -> None:
    whole, parts = replace(micro(), out=tmp_path / "whole"), replace(micro(), out=tmp_path / "parts")
    train.train(whole)
    killed = train.make_trainer(parts)
    while killed.at.step < 3:
        killed.step(time.monotonic())
    killed.save()
    killed.step(time.monotonic())  # lost: the kill comes before the next save
    at = train.train(parts, resume=True)
    assert at.step == 6
    one, two = (transformers.LlamaForCausalLM.from_pretrained(plan.out / "model") for plan in (whole, parts))
    for name, weight in one.state_dict().items():
        assert torch.equal(weight, two.state_dict()[name]), name


def test_resume_without_a_state_begins_anew(tmp_path: Path) -> None:
    plan = replace(micro(), out=tmp_path, max_steps=1)
    assert train.train(plan, resume=True).step == 1
    assert train.train(plan, resume=True).step == 1
    assert (tmp_path / "progress.json").exists()


def test_rate_warms_up_and_falls() -> None:
    assert trainer.rate_factor(0.0, 0) == pytest.approx(0.02)
    assert trainer.rate_factor(0.5, 1000) == 1.0
    assert trainer.rate_factor(0.775, 1000) == pytest.approx(0.5)
    assert trainer.rate_factor(1.0, 1000) == pytest.approx(0.02)
