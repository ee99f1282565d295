"""Admission on a real engine: Table I's requests, a quarter as long, at a vLLM engine behind a controller.

Requests of SABER's Table I in three mixes come one by one (Poisson) at the embedded model on one thread.
Limits are as many times what a request takes alone as Table I's are on the engine of `admission`; loads are
multiples of the mix's tokens that the engine says at 32 at once. Static limits, SABER as published (its curve
fitted to speeds that were measured before, at fixed loads) and ours (the same speeds, and learning) get the
same requests. All requests are served in the end, however late. `over_best_single_static` and
`worst_below_best` are as of `admission`.

The engine runs on one thread by `clocks.ChargedClock`: engine and scheduler are real and compute every token,
but a step of the model counts as what one of its size takes as a rule, by a fit to steps that were measured
before, for two runs of one trace are not alike by any clock that measures on a machine whose speed moves. All
else around the model counts as its processor time is measured, but for the controller's decisions, which are
left out and told beside: a gate decides in another process.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

from benchmarks.admission_runs import ENGINE, MIXES, TASKS, requests
from benchmarks.claims import Higher, Lower, Untold
from benchmarks.clocks import ChargedClock
from benchmarks.common import arguments, finish, table
from benchmarks.hybrid.requests import FIRST_TOKEN, LAST_TOKEN
from benchmarks.relquery_hooks import TRUE_TOKENS
from benchmarks.relquery_worker import build
from benchmarks.slo.step_times import LinearStepTimes, fitted
from lab.simulator.admission.run import AdmissionOutcome, ServedRequest, Spec
from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.online import OnlineCurve
from relserve.policies.admission.request import AdmissionRequest, Admit
from relserve.policies.admission.scalability import SpeedSample, fit
from relserve.policies.admission.variants import make
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.step_work import work_of

ROOMS = ("relserve/policies/admission", "relserve/vllm_plugin")
HEADLINE = {
    "over_best_single_static": Higher(0.15), "worst_below_best": Lower(by=10),
    "decision_ms": Lower(1, timed=True), "published_over_best_single_static": Untold("the paper's rule"),
    "published_worst_below_best": Untold("the paper's rule"), "best_single": Untold("another rule's"),
    "r2": Untold("the machine's moment"), "cv_ours_and_single": Untold("two loads tell no variation"),
}  # fmt: skip

SCALE = 0.25  # of Table I's lengths
MULTIPLES = (0.3, 0.5, 0.7, 1.0, 1.5)  # of what the engine says at 32 at once
LIMITS = (2, 4, 8, 16, 32, 64)
PROFILED = (1, 2, 4, 8, 16, 32, 64)  # loads at which speeds are measured before
NUM_PROFILED = 2  # requests a place, 8 at least
MAX_NUM_SEQS = 64
LOOK_S = 0.01  # after which an idle engine's controller is asked again
STATIC = tuple(f"static-{limit}" for limit in LIMITS)
SYSTEMS = (*STATIC, "saber", "ours")


class EngineProfile(NamedTuple):
    """A request of the profile: the mean load beside it, its seconds, tokens a second from its first on."""

    spec: Spec
    load: float
    seconds: float
    speed: float


class SteppedEngine:
    """vLLM in this process, one step at a time, and its clock."""

    def __init__(self) -> None:
        self._engine = build(argparse.Namespace(
            variant="vllm", model=str(MODEL_DIR), async_scheduling=False, max_num_seqs=MAX_NUM_SEQS,
            max_tokens=512, max_model_len=1024, kv_tokens=32_768, kv_dtype="auto", local_worker=True,
            settings="{}",
        ))  # fmt: skip
        core = self._engine.engine_core.engine_core
        self._requests = core.scheduler.requests
        self._clock, self._left_out_s = ChargedClock(), 0.0
        self._clock.charge(core.model_executor, lambda output: work_of(output, self._requests))
        self.decided_s: list[float] = []

    def forget(self) -> None:
        """The steps until now, as those of a process that has just begun."""
        self._clock.samples = []

    def charge(self) -> tuple[LinearStepTimes, float]:
        """Count steps by a fit to all that were measured; gives it and the variance that it explains."""
        steps = [[*step.work.row, step.seconds] for step in self._clock.samples]
        self._clock.cost = cost = fitted(steps)
        return cost, cost.explained(steps)

    def now(self) -> float:
        """Seconds of its work."""
        return self._clock.now() - self._left_out_s

    def wait(self, until_s: float) -> None:
        """Skip the time until then."""
        self._clock.wait(until_s + self._left_out_s)

    def apart(self, decide: Callable[[], Any]) -> Any:
        """What is decided, whose time does not count."""
        began_s = self._clock.now()
        found = decide()
        took_s = self._clock.now() - began_s
        self._left_out_s += took_s
        self.decided_s.append(took_s)
        return found

    def start(self, spec: Spec) -> None:
        """Begin with a request."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        rng = random.Random(f"{spec.request_id} {time.perf_counter_ns()}")  # in no prefix cache
        prompt = rng.choices(range(FIRST_TOKEN, LAST_TOKEN), k=spec.num_prompt)
        params = SamplingParams(
            max_tokens=spec.num_output, temperature=0, ignore_eos=True, detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY, extra_args={TRUE_TOKENS: spec.num_output},
        )  # fmt: skip
        self._engine.add_request(spec.request_id, {"prompt_token_ids": prompt}, params)

    def step(self) -> list[str]:
        """Compute one step; the requests that have ended."""
        return [output.request_id for output in self._engine.step() if output.finished]

    def num_output_tokens(self) -> dict[str, float]:
        """Tokens that each has said."""
        return {_external(name): float(each.num_output_tokens) for name, each in self._requests.items()}


def _external(name: str) -> str:
    """vLLM adds a dash and eight characters to the ids of requests."""
    return name[:-9] if len(name) > 9 and name[-9] == "-" else name


def profile(
    engine: SteppedEngine, specs: Sequence[Spec], loads: Sequence[int] = PROFILED
) -> list[EngineProfile]:
    """Serve so many at a time, at each load in turn."""
    found, coming = [], list(specs)
    for load in loads:
        left = max(NUM_PROFILED * load, 8)
        inside: dict[str, tuple[Spec, float, float]] = {}
        first_s: dict[str, float] = {}
        load_s, before_s = 0.0, engine.now()
        while left or inside:
            while left and len(inside) < load and coming:
                spec, left = coming.pop(), left - 1
                inside[spec.request_id] = spec, engine.now(), load_s
                engine.start(spec)
            ended, now_s = engine.step(), engine.now()
            load_s, before_s = load_s + len(inside) * (now_s - before_s), now_s
            for name, tokens in engine.num_output_tokens().items():
                if tokens > 0:
                    first_s.setdefault(name, now_s)
            for name in ended:
                spec, began_s, load_before_s = inside.pop(name)
                if spec.num_output > 2 and name in first_s:
                    seconds, speaks_s = now_s - began_s, now_s - first_s[name]
                    speed = (spec.num_output - 1) / speaks_s
                    found.append(EngineProfile(spec, (load_s - load_before_s) / seconds, seconds, speed))
    return found


def serve(engine: SteppedEngine, specs: Sequence[Spec], controller: AdmissionController) -> AdmissionOutcome:
    """Serve every request behind an admission controller; times are seconds from the beginning."""
    served = {spec.request_id: ServedRequest(spec) for spec in specs}
    upcoming = sorted(specs, key=lambda spec: spec.arrival_s, reverse=True)
    start_s, running, most = engine.now(), set[str](), 0

    def starts(names: Sequence[str]) -> None:
        for name in names:
            served[name].started_s = engine.now() - start_s
            running.add(name)
            engine.start(served[name].spec)

    while upcoming or running or controller.waiting:
        now_s = engine.now() - start_s
        while upcoming and upcoming[-1].arrival_s <= now_s:
            spec = upcoming.pop()
            request = AdmissionRequest(
                spec.request_id, spec.slo_class, spec.user, spec.arrival_s, spec.arrival_s + spec.limit_s,
                spec.tokens,
            )  # fmt: skip
            if isinstance(engine.apart(partial(controller.offered, request, now_s)), Admit):
                starts([spec.request_id])
        starts([r.request_id for r in engine.apart(partial(controller.poll, now_s)).started])
        most = max(most, len(running))
        if not running:
            next_s = upcoming[-1].arrival_s if upcoming else math.inf
            engine.wait(start_s + (min(next_s, now_s + LOOK_S) if controller.waiting else next_s))
            continue
        ended, now_s = engine.step(), engine.now() - start_s
        for name in ended:
            running.discard(name)
            served[name].ended_s = now_s
            done = partial(controller.done, name, now_s, served[name].spec.num_output)
            starts([r.request_id for r in engine.apart(done).started])
        engine.apart(partial(controller.progress, engine.num_output_tokens(), now_s))
    return AdmissionOutcome([served[spec.request_id] for spec in specs], most)


def scaled(specs: Sequence[Spec], prefix: str, limits_s: dict[str, float] | None = None) -> list[Spec]:
    """Table I's requests as short as they are asked here, with the engine's own limits."""
    return [
        spec._replace(
            request_id=f"{prefix}{spec.request_id}", num_prompt=max(1, round(SCALE * spec.num_prompt)),
            num_output=max(3, round(SCALE * spec.num_output)), tokens=max(3.0, SCALE * spec.tokens),
            limit_s=spec.limit_s if limits_s is None else limits_s[spec.slo_class],
        )
        for spec in specs
    ]  # fmt: skip


def limits_of(alone: Sequence[EngineProfile]) -> dict[str, float]:
    """Limits by task: what it takes alone, as many times as Table I's on the simulated engine."""
    speed = statistics.median(each.speed for each in alone)
    before_s = statistics.median(each.seconds - each.spec.num_output / each.speed for each in alone)
    found = {}
    for name, task in TASKS.items():
        work = task.num_output + ENGINE.fixed_tokens + ENGINE.prompt_share * task.num_prompt
        times = task.limit_s / (work / ENGINE.curve.speed(1))
        found[name] = times * (max(before_s, 0.0) + SCALE * task.num_output / speed)
    return found


def controller_of(
    system: str, measured: Sequence[EngineProfile], limits_s: dict[str, float]
) -> AdmissionController:
    """A fresh controller that knows what was measured before."""
    samples = [SpeedSample(each.load, each.speed) for each in measured]
    if system != "ours":
        return AdmissionController(make(system), OnlineCurve(samples, learns=False))
    controller, curve = AdmissionController(make("in_time"), OnlineCurve(samples)), fit(samples)
    for each in measured:
        spec = each.spec
        request = AdmissionRequest(
            spec.request_id, spec.slo_class, "", 0.0, limits_s[spec.slo_class], spec.tokens
        )
        controller.learn(request, curve.speed(each.load) * each.seconds)
    return controller


def main() -> None:
    """Print the tables, save a full run's numbers, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each cell")
    args = parser.parse_args()
    multiples: Sequence[float] = (0.5, 1.0) if args.quick else MULTIPLES
    mixes = ["W3"] if args.quick else list(MIXES)
    seeds = range(1, 2 if args.quick else args.seeds + 1)
    number = 20 if args.quick else 100
    engine = SteppedEngine()
    profile(engine, scaled(requests("W3", 1.0, 0, 50, "warm"), "w"), [8])
    engine.forget()
    profile(engine, scaled(requests("W3", 1.0, 0, 500, "steps"), "s"))
    cost, explained = engine.charge()
    print(f"a step counts as {cost}, which explains {explained:.3f} of the variance of measured ones")
    measured = profile(engine, scaled(requests("W3", 1.0, 0, 500, "profile"), "p"))
    limits_s = limits_of([each for each in measured if each.load < 1.05])
    curve = fit([SpeedSample(each.load, each.speed) for each in measured])
    busy = [each for each in measured if 20 < each.load < 40]
    full = 32 * sum(each.spec.num_output for each in busy) / sum(each.seconds for each in busy)
    print(f"R2 {curve.r2:.3f}; tokens a second of each: "
          + ", ".join(f"{curve.speed(load):.0f} at {load}" for load in PROFILED)
          + f"; {full:.0f} of 32 together, with their prompts")  # fmt: skip
    engine.decided_s.clear()
    goodput: dict[tuple[str, float, str], list[float]] = {}
    ratio: dict[tuple[str, float, str], list[float]] = {}
    decided: dict[str, list[float]] = {}
    for seed in seeds:
        for mix in mixes:
            mean = SCALE * sum(p * t.num_output for p, t in zip(MIXES[mix], TASKS.values(), strict=True))
            for multiple in multiples:
                rate = multiple * full / mean
                specs = scaled(requests(mix, rate, seed, number), f"{seed}{mix}{multiple}", limits_s)
                first = (seed + 3 * mixes.index(mix) + multiples.index(multiple)) % len(SYSTEMS)
                for system in (*SYSTEMS[first:], *SYSTEMS[:first]):  # the machine's speed drifts
                    own = [s._replace(request_id=f"{s.request_id}{system}") for s in specs]
                    outcome = serve(engine, own, controller_of(system, measured, limits_s))
                    goodput.setdefault((mix, multiple, system), []).append(outcome.goodput)
                    found = statistics.fmean(s.latency_s / s.spec.limit_s for s in outcome.served)
                    ratio.setdefault((mix, multiple, system), []).append(found)
                    decided.setdefault(system, []).extend(engine.decided_s)
                    engine.decided_s.clear()
    steps = {"step_times": asdict(cost), "fit_r2": explained}
    report(goodput, ratio, decided, mixes, multiples, args.quick, curve, limits_s, steps)


def report(
    goodput: dict[tuple[str, float, str], list[float]],
    ratio: dict[tuple[str, float, str], list[float]],
    decided: dict[str, list[float]],
    mixes: Sequence[str],
    multiples: Sequence[float],
    quick: bool,
    curve: Any,
    limits_s: dict[str, float],
    steps: dict[str, Any],
) -> None:
    """Tables and headline."""
    mean = {key: statistics.fmean(values) for key, values in goodput.items()}
    rows = [[mix, m, *(mean[mix, m, system] for system in SYSTEMS)] for mix in mixes for m in multiples]
    print("Goodput (%): the share of requests that ended within their limit")
    print(table(["mix", "load", *SYSTEMS], rows))
    over_all = {s: statistics.fmean(mean[mix, m, s] for mix in mixes for m in multiples) for s in SYSTEMS}
    single = max(STATIC, key=over_all.__getitem__)
    best = {(mix, m): max(mean[mix, m, s] for s in STATIC) for mix in mixes for m in multiples}
    variation = {s: statistics.fmean(_variation(ratio, mix, multiples, s) for mix in mixes) for s in SYSTEMS}
    milliseconds = {s: 1e3 * statistics.fmean(each) for s, each in decided.items()}
    print(table(["", *SYSTEMS], [
        ["goodput over all (%)", *(over_all[s] for s in SYSTEMS)],
        ["variation of latency over limit (%)", *(variation[s] for s in SYSTEMS)],
        ["a decision (ms)", *(milliseconds[s] for s in SYSTEMS)],
    ]))  # fmt: skip
    head: dict[str, Any] = {}
    for name, system in (("", "ours"), ("published_", "saber")):
        below = [best[mix, m] - mean[mix, m, system] for mix in mixes for m in multiples]
        head[f"{name}over_best_single_static"] = round(over_all[system] / over_all[single], 3)
        head[f"{name}worst_below_best"] = round(max(0.0, *below), 1)
    head |= {"best_single": single, "r2": round(curve.r2, 3), "decision_ms": round(milliseconds["ours"], 2)}
    head["cv_ours_and_single"] = [round(variation["ours"], 1), round(variation[single], 1)]
    details = {
        "goodput": rows, "over_all": over_all, "variation": variation, "limits_s": limits_s,
        "curve": list(curve.parameters), **steps,
        "by_seed": [[*key, *values] for key, values in goodput.items()],
        "ratio_by_seed": [[*key, *values] for key, values in ratio.items()],
    }  # fmt: skip
    finish("admission_engine", head, details, quick)


def _variation(
    ratio: dict[tuple[str, float, str], list[float]], mix: str, multiples: Sequence[float], system: str
) -> float:
    """Of the mean ratio over loads (the paper's Eq. 1), percent."""
    each = [statistics.fmean(ratio[mix, m, system]) for m in multiples]
    return 100 * statistics.pstdev(each) / max(statistics.fmean(each), math.ulp(1.0))


if __name__ == "__main__":
    main()
