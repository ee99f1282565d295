"""`relserve calibrate`: measure a model's steps on this machine and save the cost model fitted to them."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Any

from rich.console import Console

from relserve.calibration import fitting, run
from relserve.cli.console import console
from relserve.machine.token_costs import save_token_costs
from relserve.settings import load


def calibrate(model: str, out: Path | None, seconds: float) -> None:
    """Measure, fit, print the coefficients, and save them.

    Args:
        out: the file to write; None for the one in which engines of this model look.
        seconds: longest time to measure, after the engine's start.
    """
    screen = console()
    measured = _measure(screen, model, seconds, "kv")
    found = fitting.calibrate(measured.samples)
    screen.print(run.table(found))
    target = out or measured.path
    found.model.save(target)
    screen.print(f"\nsaved to {target}", soft_wrap=True)
    if target == measured.path:
        screen.print("Engines of this model on this machine find it there.")
        _hidden(screen, model, seconds / 2, measured.forbids_hidden, found)
        return
    setting = dumps({"relserve": {"variant": "dpu+marginal", "cost_path": str(target.resolve())}})
    for use in (f"vllm serve .. --additional-config '{setting}'",
                f"RELSERVE_ENGINE_ARGS='{{\"additional_config\": {setting}}}'"):  # fmt: skip
        screen.print(f"Use it: {use}", soft_wrap=True)


def _hidden(
    screen: Console, model: str, seconds: float, forbids: list[str], found: fitting.Calibration
) -> None:
    """Measure and keep what hidden states cost, where rows of the model can keep them."""
    if forbids:
        screen.print(f"\nNo hidden states: {'; '.join(forbids)}.", soft_wrap=True)
        return
    measured = _measure(screen, model, seconds, "hybrid")
    costs = fitting.token_costs(measured.samples)
    screen.print(run.hidden_table(costs, found.model))
    save_token_costs(measured.path, costs)
    screen.print(f"\nsaved to {measured.path}", soft_wrap=True)


def _measure(screen: Console, model: str, seconds: float, cache: str) -> run.CalibrationSamples:
    settings = load()
    path = run.path_of(model)
    screen.print(f"starting an engine for {model} ...")
    log_path = settings.cache_dir / "logs" / "calibrate.log"
    with screen.status("") as line:

        def tell(message: dict[str, Any]) -> None:
            if "ready" in message:
                sizes = f"{message['ready']['max_tokens']:,} tokens, {message['ready']['max_seqs']:,} rows"
                screen.print(f"measuring steps of up to {sizes} ...")
            elif "measured" in message:
                line.update(f"{message['measured']:,} steps measured")

        return run.measure(path, settings.vllm_args, seconds, log_path, tell, cache)
