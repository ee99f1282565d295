"""The scheduler's settings, from vLLM's `additional_config["relserve"]`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from relserve_kernels.choice import KERNELS

from relserve.errors import UsageError
from relserve.machine.cost_file import find_calibration, find_learnt_cost, learnt_cost_path
from relserve.machine.length_file import lengths_path
from relserve.policies.budget.variants import FORMER as FORMER_BUDGETS
from relserve.policies.budget.variants import make as make_budget
from relserve.policies.caching.variants import FORMER as FORMER_CACHING
from relserve.policies.caching.variants import VARIANTS as CACHING
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.variants import DEFAULT, VARIANTS
from relserve.settings import KV_CACHES as CACHES
from relserve.settings import STEP_BUDGET, keeps_learnt
from relserve.vllm_plugin.key import KEY

OFF = "off"
# Settings, and policies in them, that configurations may still call by their earlier names.
FORMER = {"tbt_slo_s": "tpot_slo_s"}
FORMER_VALUES = {"step_budget": FORMER_BUDGETS, "caching": FORMER_CACHING}
# Where nothing was measured yet: the embedded model on a CPU core; the first steps correct it.
FIRST_GUESS = CostModel(2e-5, 2.6e-3, 9e-5, 1.4e-3, 3.6e-3)


@dataclass(frozen=True)
class SchedulerSettings:
    """How relQueries are scheduled.

    Attributes:
        variant: a name of `relserve.policies.scheduling.variants.NAMES`, or "stock" for vLLM's own order.
        patience: no relQuery takes longer than so many times the latency that FCFS would have given it, and
            a second, as far as that can be foreseen; 0 for no such guard, as with a published variant that
            is given none.
        starvation_s: instead of it, the paper's guard: threshold in seconds of waiting per row.
        sample_size: waiting rows looked up in the prefix cache for a miss ratio (Eq. 11).
        cost_path: file of a calibrated cost model, as `relserve calibrate` writes it.
        learnt_cost_path: file in which fitted step times are kept for the next engine; "" keeps them nowhere.
        lengths_path: file in which learnt lengths of outputs are kept; "" keeps them nowhere.
        ranks: data parallel copies of the model that share the rows; vLLM does not tell a copy how many there
            are. 0: not said.
        cache: what a row's blocks hold: "kv", keys and values; "hidden", layers' inputs; "hybrid", either.
        absorbs: whether few queries attend over a layer's input without making keys and values of it.
        kernels: which kernels keep X and attend over it: "cpu" or "triton"; "": those of the device.
        caching: a name of `relserve.policies.caching.variants.NAMES`: that policy decides each step which
            requests run and as what they keep their tokens, in place of `variant`; "" leaves the steps to
            `variant`.
        ttft_slo_s, tpot_slo_s: how long a request's first token, and each other one, may take, for `caching`
            and `step_budget`; 0 for any time. A request's own `extra_args` go before.
        step_budget: a name of `relserve.policies.budget.variants.NAMES`, which decides before each step how
            many tokens it computes; "off": as many as the engine's limits allow.
    """

    variant: str = DEFAULT
    patience: float = 2.5
    starvation_s: float = 0.0
    sample_size: int = 10
    cost_path: str = ""
    learnt_cost_path: str = ""
    lengths_path: str = ""
    ranks: int = 0
    cache: str = "kv"
    caching: str = ""
    ttft_slo_s: float = 0.0
    tpot_slo_s: float = 0.0
    absorbs: bool = True
    kernels: str = ""
    step_budget: str = STEP_BUDGET

    @property
    def first_cost(self) -> CostModel:
        """The cost model to begin with."""
        return CostModel.load(Path(self.cost_path)) if self.cost_path else FIRST_GUESS


def read(additional_config: Any, model: str = "") -> SchedulerSettings:
    """The settings of an engine.

    Args:
        model: as vLLM's configuration names it; its calibration on this machine, and the lengths of its
            outputs, are used where `cost_path` or `lengths_path` is not given.

    Raises:
        UsageError: an unknown setting or variant.
    """
    given = additional_config.get(KEY) if isinstance(additional_config, Mapping) else None
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise UsageError(f"relserve's settings are a mapping of names to values, not {given!r}")
    given = _by_present_names(given)
    known = [f.name for f in fields(SchedulerSettings)]
    for name in given:
        if name not in known:
            raise UsageError(f"relserve's scheduler has no setting {name!r}; there are: {', '.join(known)}")
    if given.get("starvation_s") or given.get("variant", DEFAULT) != DEFAULT:
        given = {"patience": 0.0, **given}
    if given.get("caching"):  # which has a budget of its own
        given = {"step_budget": OFF, **given}
    settings = SchedulerSettings(**given)
    if settings.starvation_s and settings.patience:
        raise UsageError("starvation_s and patience are two guards against the same; leave one of them out")
    if type(settings.ranks) is not int or settings.ranks < 0:
        raise UsageError(
            f"ranks is the number of data parallel copies, a whole number, not {settings.ranks!r}; "
            "0 where it is not known"
        )
    if settings.variant != "stock" and settings.variant not in VARIANTS:
        raise UsageError(VARIANTS.unknown(settings.variant, "stock"))
    if settings.cost_path:
        _check_cost(settings.cost_path)
    _check_caching(settings)
    _check_budget(settings)
    if model and settings.variant != "stock":
        settings = _with_files(settings, model)
    return settings


def _by_present_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the names of now, where they or the policies in them have been renamed since.

    Raises:
        UsageError: one is given under both.
    """
    for former, name in FORMER.items():
        if former in given and name in given:
            raise UsageError(f"{former} is what {name} was called before; leave {former} out")
    found = {FORMER.get(name, name): value for name, value in given.items()}
    for name, former_values in FORMER_VALUES.items():
        if isinstance(value := found.get(name), str):
            found[name] = former_values.get(value, value)
    return found


def _with_files(settings: SchedulerSettings, model: str) -> SchedulerSettings:
    """The settings with the model's own files where others are not given."""
    lengths, learnt = settings.lengths_path, settings.learnt_cost_path
    calibrated = settings.cost_path or find_calibration(model)
    if keeps_learnt():
        lengths = lengths or str(lengths_path(model))
        learnt = learnt or ("" if calibrated else str(learnt_cost_path(model)))
    known = calibrated or find_learnt_cost(model)
    return replace(settings, cost_path=known, lengths_path=lengths, learnt_cost_path=learnt)


def _check_cost(path: str) -> None:
    try:
        CostModel.load(Path(path))
    except (OSError, TypeError, ValueError) as error:
        raise UsageError(
            f"cost_path: {path} holds no cost model ({error}); relserve calibrate --out makes one"
        ) from None


def _check_caching(settings: SchedulerSettings) -> None:
    if settings.cache not in CACHES:
        raise UsageError(f"no cache {settings.cache!r}; there are: {', '.join(CACHES)}")
    if settings.kernels not in ("", *KERNELS):
        raise UsageError(f"no kernels {settings.kernels!r}; there are: {', '.join(KERNELS)}")
    if settings.caching and settings.caching not in CACHING:
        raise UsageError(CACHING.unknown(settings.caching))
    if settings.caching and settings.variant == "stock":
        raise UsageError(
            f"caching {settings.caching!r} decides which requests run, the variant 'stock' lets vLLM do so; "
            "leave one of them out"
        )
    for name in ("ttft_slo_s", "tpot_slo_s"):
        if as_slo(getattr(settings, name)) is None:
            raise UsageError(
                f"{name} is a number of seconds, from 0 for any time, not {getattr(settings, name)!r}"
            )


def _check_budget(settings: SchedulerSettings) -> None:
    if settings.step_budget != OFF:
        try:
            make_budget(settings.step_budget)
        except (ValueError, AttributeError) as error:
            raise UsageError(f"step_budget: {error}; or {OFF!r}") from None
        if settings.caching:
            raise UsageError(
                f"caching {settings.caching!r} decides itself how many tokens a step computes; leave it or "
                f"step_budget {settings.step_budget!r} out"
            )


def as_slo(value: Any) -> float | None:
    """Seconds that a token may take, 0 for any time; None where the value is no such thing."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        seconds = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
