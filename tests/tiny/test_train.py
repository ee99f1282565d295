"""Training goes on after a kill as if nothing had happened, and exports a model that loads."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM

from relserve.tiny.plan import Plan
from relserve.tiny.train import make_trainer, train
from relserve.tiny.trainer import rate_factor

MICRO = Plan(
    Path(), minutes=60.0, max_steps=6, batch_tokens=256, easy_pools=1, hidden=32, layers=2, heads=2,
    intermediate=48, vocab=400, tokenizer_examples=60, save_every_s=0.0,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_resumed_training_equals_training_in_one_go(tmp_path: Path) -> None:
    whole, parts = replace(MICRO, out=tmp_path / "whole"), replace(MICRO, out=tmp_path / "parts")
    train(whole)
    killed = make_trainer(parts)
    while killed.at.step < 3:
        killed.step(time.monotonic())
    killed.save()
    killed.step(time.monotonic())  # lost: the kill comes before the next save
    at = train(parts, resume=True)
    assert at.step == 6
    one, two = (LlamaForCausalLM.from_pretrained(plan.out / "model") for plan in (whole, parts))
    for name, weight in one.state_dict().items():
        assert torch.equal(weight, two.state_dict()[name]), name


def test_resume_without_a_state_begins_anew(tmp_path: Path) -> None:
    plan = replace(MICRO, out=tmp_path, max_steps=1)
    assert train(plan, resume=True).step == 1
    assert train(plan, resume=True).step == 1
    assert (tmp_path / "progress.json").exists()


def test_rate_warms_up_and_falls() -> None:
    assert rate_factor(0.0, 0) == pytest.approx(0.02)
    assert rate_factor(0.5, 1000) == 1.0
    assert rate_factor(0.775, 1000) == pytest.approx(0.5)
    assert rate_factor(1.0, 1000) == pytest.approx(0.02)
