"""Start the measured engine in a process of its own, follow it, and show what came out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from relserve.calibration.fitting import Calibration
from relserve.call.hosted_names import START_HERE, hint_of
from relserve.engines.local import cpu
from relserve.engines.local.log import last_error, size_of
from relserve.engines.registry import HUB_ID
from relserve.errors import EngineStartError, ModelError
from relserve.machine.embedded import find_folder
from relserve.machine.private_files import open_private
from relserve.machine.token_costs import TokenCosts
from relserve.policies.model.linear import CostModel
from relserve.policies.model.work import MeasuredStep, Work

WORKER = "relserve.calibration.worker"
SHOWN = ((8, 256), (32, 256), (32, 1024))  # rows, and tokens of each, of the decodes that a table shows


class CalibrationSamples(NamedTuple):
    """The samples of a run, and the file in which engines look for what is made of them.

    Attributes:
        forbids_hidden: why rows of this model cannot keep hidden states; empty where they can.
    """

    samples: list[MeasuredStep]
    path: Path
    forbids_hidden: list[str]


def path_of(name: str) -> str:
    """What vLLM is to load for a model's name: an embedded one's, a folder, or a hub id.

    Raises:
        ModelError: the name leads to no model that vLLM could run here.
    """
    if own := find_folder(name):
        return str(own)
    path = Path(name).expanduser()
    if (path / "config.json").is_file():
        return str(path)
    if path.exists() or hint_of(name) or not HUB_ID.fullmatch(name) or name.startswith((".", "/", "~")):
        raise ModelError(
            f"no model {name!r} to calibrate: give 'tiny', a folder with a config.json, or a hub id; "
            f"{START_HERE}"
        )
    return name


def measure(
    path: str,
    engine_args: Mapping[str, Any],
    seconds: float,
    log_path: Path,
    tell: Callable[[dict[str, Any]], None],
    cache: str = "kv",
) -> CalibrationSamples:
    """Measure for at most about `seconds` after the start, in a worker; blocks.

    Args:
        log_path: file to whose end vLLM's own output goes.
        tell: given every message of the engine's process, see `relserve.calibration.worker`.
        cache: "kv"; or "hybrid", for what tokens in memory cost as keys and values and as hidden states.

    Raises:
        EngineStartError: the engine did not start, or died.
    """
    log_path.parent.mkdir(parents=True, exist_ok=True)
    log_start = size_of(log_path)
    with open_private(log_path) as log:
        # A session of its own: Ctrl-C comes here, and here the process is ended.
        worker = subprocess.Popen(
            [sys.executable, "-m", WORKER], text=True, stderr=log, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**cpu.ALLOCATOR, **os.environ},  # read before a process can set them for itself
        )  # fmt: skip
    assert worker.stdin is not None
    assert worker.stdout is not None
    reported: dict[str, Any] = {}  # later words over earlier ones
    order = dict(path=path, engine_args=dict(engine_args), seconds=seconds, cache=cache)
    try:
        with worker.stdout, worker.stdin:
            worker.stdin.write(json.dumps(order) + "\n")
            worker.stdin.flush()
            for line in worker.stdout:
                message = json.loads(line)
                reported |= message
                tell(message)
    except BrokenPipeError:
        pass  # it died; the log says why
    finally:
        worker.kill()
        worker.wait()
    if "samples" not in reported:
        why = last_error(log_path, log_start) or f"exit code {worker.returncode}"
        raise EngineStartError(f"the engine to calibrate ended: {why}; its log is {log_path}")
    samples = [MeasuredStep(Work(*work), seconds) for work, seconds in reported["samples"]]
    return CalibrationSamples(samples, Path(reported["path"]), reported["forbids_hidden"])


def hidden_table(costs: TokenCosts, model: CostModel) -> Table:
    """What a step of rows takes by what they keep: whether hidden states pay on this machine."""
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    shown.add_column("rows keep")
    shown.add_column("a token in memory", justify="right")
    for num_rows, num_tokens in SHOWN:
        shown.add_column(f"{num_rows} rows of {num_tokens:,}", justify="right")
    for name, seconds in (("keys and values", costs.kv_s), ("hidden states", costs.hidden_s)):
        steps_s = [model.decode(rows) + rows * tokens * seconds for rows, tokens in SHOWN]
        cells = [f"{1e3 * step_s:.2f} ms" for step_s in steps_s]
        shown.add_row(name, f"{1e6 * seconds:.4f} us a step", *cells)
    return shown


def table(found: Calibration) -> Table:
    """The coefficients of the fit and its error, by kind of step."""
    shown = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    shown.add_column("step")
    for name in ("measured", "a unit", "base", "median error"):
        shown.add_column(name, justify="right")
    model = found.model
    units = {
        "prefill": (f"{model.prefill_per_token_s * 1e6:,.2f} us/token", model.prefill_base_s),
        "decode": (f"{model.decode_per_request_s * 1e6:,.2f} us/row", model.decode_base_s),
        "mixed": ("both", model.shared_base_s),
    }
    for kind, quality in found.quality.items():
        unit, base_s = units[kind]
        shown.add_row(
            kind, f"{quality.num_steps:,}", unit, f"{base_s * 1e3:.3f} ms", f"{quality.median_error:.1%}"
        )
    total = sum(quality.num_steps for quality in found.quality.values())
    shown.add_row("all", f"{total:,}", "", "", f"{found.median_error:.1%}")
    return shown
