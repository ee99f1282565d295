"""How old a fleet's knowledge of an engine is, and what telling costs the engine: the tiny model under load.

An engine in a process of its own answers relQueries of 400 rows and single requests at random moments, and
reports by UDP to an owner on the engine loop of the process that asks it. `state_age` is from when a report
was made until the owner has taken it, by the one clock of the machine; `held` is how old the latest state is
at a random moment of load, which the pause of 20 ms between reports and the length of steps add to.
`telemetry_share` is what reports and the model of step times take of an engine's time, percent, when it runs
in this process; the reports go to a socket that nobody reads.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.plots import Panel, curves
from relserve.call.relquery import Sampling, Submission
from relserve.engines.fleet.state_channel import StateChannel
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.start import arguments_of, set_environment, variables_of
from relserve.engines.loop import spawn
from relserve.machine.state_message import VARIABLE, Target, decode
from relserve.tiny import MODEL_DIR

ROOMS = ("relserve/engines/fleet", "relserve/machine/state_message.py", "relserve/vllm_plugin")
HEADLINE = {
    "state_age_p50_ms": Lower(2, timed=True), "telemetry_share": Lower(0.5),
    "state_age_p99_ms": Untold("it moved twentyfold between full runs"),
}  # fmt: skip

ROWS, TOKENS = 400, 16
SINGLES_S = 0.05  # between single requests, on average
SHARES = (50, 90, 99, 99.9)


class Timed(StateChannel):
    """A channel that notes when each report was made and taken."""

    def __init__(self) -> None:
        super().__init__(lambda name, report: None)
        self.sent_s: list[float] = []
        self.ages_s: list[float] = []

    def datagram_received(self, data: bytes, addr: object) -> None:
        """See `StateChannel`."""
        super().datagram_received(data, addr)
        self.sent_s.append(decode(data, self._tokens)[2])
        self.ages_s.append(time.time() - self.sent_s[-1])


@contextmanager
def reporting_to(target: Target) -> Iterator[None]:
    """Have engines that start meanwhile report there."""
    os.environ[VARIABLE] = target.text
    try:
        yield
    finally:
        del os.environ[VARIABLE]


async def load(engine: LocalEngine, channel: Timed, seconds: float) -> list[float]:
    """Keep the engine busy; gives how old the latest state was at random moments."""
    rng, end_s, held = random.Random(1), time.monotonic() + seconds, list[float]()

    async def ask(name: str, num: int) -> None:
        prompts = [f"Say something about beer {name} {number}" for number in range(num)]
        async for _ in engine.answer(Submission(name, prompts, Sampling(max_tokens=TOKENS))):
            pass

    async def relqueries(which: int) -> None:
        number = 0
        while time.monotonic() < end_s:
            number += 1
            await ask(f"r{which}-{number}", ROWS)

    async def singles() -> None:
        asked, number = list[asyncio.Task[None]](), 0
        while time.monotonic() < end_s:
            await asyncio.sleep(rng.expovariate(1 / SINGLES_S))
            number += 1
            asked.append(asyncio.ensure_future(ask(f"s{number}", 1)))
        await asyncio.gather(*asked)

    async def look() -> None:
        while time.monotonic() < end_s:
            await asyncio.sleep(rng.expovariate(100))
            held.append(time.time() - channel.sent_s[-1])

    await asyncio.gather(relqueries(0), relqueries(1), singles(), look())
    return held


def ages(seconds: float) -> tuple[list[float], list[float]]:
    """Seconds from a report's making to its taking, and of the latest state at random moments."""
    channel = Timed()
    spawn(channel.open()).result()
    engine = LocalEngine("tiny", str(MODEL_DIR), engine_args={"dtype": "float32"})
    with reporting_to(channel.expect("tiny")):
        spawn(engine.start()).result()
    spawn(load(engine, channel, 2.0)).result()  # the first steps are slow
    channel.ages_s.clear()
    held = spawn(load(engine, channel, seconds)).result()
    found = list(channel.ages_s)
    spawn(engine.close()).result()
    if channel.dropped:
        raise SystemExit(f"datagrams were dropped: {dict(channel.dropped)}")
    return found, held


def share(num_rows: int) -> dict[str, float]:
    """What telling costs an engine in this process that answers so many rows."""
    from vllm import SamplingParams

    from relserve.vllm_plugin.engines import engine_in_this_process, scheduler_in

    arguments = arguments_of(str(MODEL_DIR), {"dtype": "float32"})
    set_environment({**variables_of(str(MODEL_DIR), arguments), "VLLM_ENABLE_V1_MULTIPROCESSING": "0"})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind(("127.0.0.1", 0))
        with reporting_to(Target(f"127.0.0.1:{nobody.getsockname()[1]}", "a secret that nobody has", "tiny")):
            engine = engine_in_this_process(arguments)
        for part in ("warm", "timed"):
            for row in range(num_rows):
                tag = {"rel_id": f"{part}{row % 8}", "rel_rows": num_rows // 8, "rel_dispatch": row}
                params = SamplingParams(max_tokens=TOKENS, temperature=0, extra_args=tag)
                engine.add_request(f"{part}-{row}", f"Say something about beer {part} {row}", params)
            telemetry, steps = scheduler_in(engine).telemetry, 0
            spent_s, num_sent, began_s = telemetry.spent_s, telemetry.sender.num_sent, time.perf_counter()
            while engine.has_unfinished_requests():
                engine.step()
                steps += 1
            passed_s = time.perf_counter() - began_s
        spent_s, num_sent = telemetry.spent_s - spent_s, telemetry.sender.num_sent - num_sent
        telemetry.close()
    return {
        "share": 100 * spent_s / passed_s, "step_ms": 1e3 * passed_s / steps,
        "a_step_us": 1e6 * spent_s / steps, "reports_a_second": num_sent / passed_s,
    }  # fmt: skip


def percentiles(values_s: Sequence[float]) -> list[float]:
    """In milliseconds, of SHARES."""
    return [float(value) for value in 1e3 * np.percentile(values_s, SHARES)]


def plot(path: Path, ages_s: Mapping[str, Sequence[float]]) -> None:
    """Draw the percentiles of each."""
    levels = list(range(1, 100))
    lines = {name: (levels, [float(age) for age in 1e3 * np.percentile(values, levels)])
             for name, values in ages_s.items()}  # fmt: skip
    curves(path, [Panel("an engine's state at its owner, under load", lines)], "percentile", "ms")


def main() -> None:
    """Measure ages, then the share."""
    options = arguments(__doc__ or "").parse_args()
    came_s, held_s = ages(5.0 if options.quick else 60.0)
    cost = share(400 if options.quick else 4000)
    rows: list[list[Any]] = [
        [name, len(values), *percentiles(values)]
        for name, values in (("state_age", came_s), ("held", held_s))
    ]  # fmt: skip
    print(table(["ms", "number", *[f"P{share:g}" for share in SHARES]], rows))
    print(
        f"telling takes {cost['a_step_us']:.0f} us of a step of {cost['step_ms']:.1f} ms, "
        f"{cost['share']:.2f} %; {cost['reports_a_second']:.0f} reports a second"
    )
    p50, _, p99, _ = percentiles(came_s)
    finish(
        "fleet_state", {"state_age_p50_ms": p50, "state_age_p99_ms": p99, "telemetry_share": cost["share"]},
        {"ages_ms": dict(zip(map(str, SHARES), percentiles(came_s), strict=True)),
         "held_ms": dict(zip(map(str, SHARES), percentiles(held_s), strict=True)), "cost": cost},
        options.quick, lambda path: plot(path, {"state_age": came_s, "held": held_s}),
    )  # fmt: skip


if __name__ == "__main__":
    main()
