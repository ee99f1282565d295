"""Calibrations of llm_prob and llm_probs: fitted to labelled rows, and found for a call that names one."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from relserve.call.answer_types import described
from relserve.call.decisions import YES_NO, Decision, Distribution, Labelling, Probability
from relserve.call.options import CAPS, DEFAULTS
from relserve.call.relquery import CallSite
from relserve.engines.protocol import Engine
from relserve.errors import OptionError, UsageError
from relserve.evaluation.calibrators import Calibrator, OwnCalibrations
from relserve.evaluation.graded import yes_or_no
from relserve.machine.kept_calibrations import KeptCalibration, keep_calibration, read_calibration
from relserve.session.cached_answers import ask_fingerprint

if TYPE_CHECKING:  # NumPy is imported by those who fit
    from relserve.evaluation.calibration_scores import ReliabilityBin

FEWEST_ROWS = 20
# Options under which a model gives the same probabilities.
_WITHOUT_EFFECT = {
    *CAPS, *"model on_error deadline slo field_order choices calibration label_mass threshold".split()
}  # fmt: skip


@dataclass(frozen=True)
class CalibrationReport:
    """What a calibration of a call brought.

    `after` are figures of rows that were left out when it was fitted; see `best_calibration`.

    Attributes:
        path: the file that keeps it.
        method: 'none', 'temperature', 'platt' or 'isotonic'.
        brier_before, brier_after: Brier score; 0 is perfect.
        error_before, error_after: expected calibration error.
        bins_before, bins_after: from which that follows.
    """

    name: str
    path: Path
    method: str
    num_rows: int
    brier_before: float
    brier_after: float
    error_before: float
    error_after: float
    bins_before: Sequence[ReliabilityBin]
    bins_after: Sequence[ReliabilityBin]

    @property
    def row(self) -> dict[str, Any]:
        """Its figures, by the names of columns."""
        return dict(
            name=self.name, method=self.method, rows=self.num_rows, brier_before=self.brier_before,
            brier_after=self.brier_after, error_before=self.error_before, error_after=self.error_after,
        )  # fmt: skip


def can_be_calibrated(site: CallSite) -> bool:
    """Whether it is a call of llm_prob or llm_probs."""
    return isinstance(site.answer_type, (Probability, Distribution))


def wanted_label(site: CallSite) -> str:
    """What a label beside the answers of a call must be, in words."""
    choices = _choices(site)
    return "true or false (or yes or no, 1 or 0)" if choices == YES_NO else f"one of {list(choices)}"


def truth_of(site: CallSite, label: Any) -> int:
    """The number of the choice that a label means.

    Raises:
        ValueError: it means none.
    """
    kind = site.answer_type
    if _choices(site) == YES_NO:
        return 0 if yes_or_no(label) else 1
    found = kind.parse(str(label))
    if found.failure is not None:
        raise ValueError(found.failure.message)
    return _choices(site).index(found.value)


def probabilities_of(site: CallSite, value: float | str) -> list[float]:
    """The probabilities of all choices, from an answer or from the JSON of its value in SQL.

    Raises:
        UsageError: the value is not what the call gives, but something that was made of it.
    """
    found = json.loads(value) if isinstance(value, str) else value
    if isinstance(site.answer_type, Distribution):
        told: list[Any] = [found.get(each) for each in _choices(site)] if isinstance(found, dict) else []
    else:
        told = [found, 1 - found] if isinstance(found, float) else []
    if not told or not all(isinstance(p, float) and 0 <= p <= 1 for p in told) or not any(told):
        raise UsageError(
            f"{value!r:.80} is not what {site.function}() gives: calibrate the call itself, with nothing "
            "around it"
        )
    return told


def calibrate(
    name: str,
    site: CallSite,
    engine: Engine,
    probabilities: Sequence[Sequence[float]],
    truths: Sequence[int],
    cancel: threading.Event | None = None,
) -> CalibrationReport:
    """Fit a calibration of a call to labelled rows, and keep it.

    Args:
        engine: that was asked.
        probabilities: of the choices of each row.
        truths: the number of each row's right choice.
        cancel: set to give up waiting for the engine's fingerprint.

    Raises:
        Cancelled: `cancel` was set.
        UsageError: the rows are too few, or too much alike; or the call names a calibration already.
        RelserveError: the engine is gone.
    """
    import numpy as np

    from relserve.evaluation.calibration_fits import best_calibration
    from relserve.evaluation.calibration_scores import brier_score, calibration_error, reliability

    if site.options.calibration is not None:
        raise UsageError("leave calibration := out here: a calibration is fitted to the model's own numbers")
    _check_rows(site, probabilities, truths)
    before, right = np.array(probabilities, float), np.array(truths)
    before /= before.sum(1, keepdims=True)
    found = best_calibration(before, right)
    kept = KeptCalibration(
        _question(site), _choices(site), _moving_options(site), engine.model,
        ask_fingerprint(engine, cancel or threading.Event(), None), len(right), found.calibrator,
    )  # fmt: skip
    bins_before, bins_after = reliability(before, right), reliability(found.held_out, right)
    return CalibrationReport(
        name, keep_calibration(name, kept), found.method, len(right),
        brier_score(before, right), brier_score(found.held_out, right),
        calibration_error(bins_before), calibration_error(bins_after), bins_before, bins_after,
    )  # fmt: skip


def calibrations_of_call(site: CallSite, shows_others: bool = True) -> dict[str, KeptCalibration]:
    """The kept calibrations that a call names, by their names.

    Args:
        shows_others: see `calibrator_for`.

    Raises:
        OptionError: there is none of a name, or none that can be used.
    """
    named = site.options.calibration or ()
    names = (named,) if isinstance(named, str) else [name for _, name in named]
    return {name: read_calibration(name, lists=shows_others) for name in names}


def calibrator_for(
    kept: Mapping[str, KeptCalibration],
    site: CallSite,
    engine: Engine,
    cancel: threading.Event,
    ends_s: float | None,
    shows_others: bool = True,
) -> Calibrator | None:
    """What corrects a call's probabilities; None where it names no calibration.

    Args:
        kept: the call's own, see `calibrations_of_call`.
        cancel, ends_s: see `ask_fingerprint`.
        shows_others: errors tell of other calibrations, and of what one was fitted to: on a server these are
            another user's.

    Raises:
        OptionError: one was fitted to another call or model.
        Cancelled, RelserveError: see `ask_fingerprint`.
    """
    named = site.options.calibration
    if named is None:
        return None
    fingerprint = ask_fingerprint(engine, cancel, ends_s)
    if isinstance(named, str):
        asked = _Asked(named, _choices(site), _question(site), _moving_options(site))
        return _fitting(kept[named], asked, engine.model, fingerprint, shows_others)
    own = {label: (kept[name], _asked_about(site, label, name)) for label, name in named}
    return OwnCalibrations(
        tuple(
            _fitting(*own[label], engine.model, fingerprint, shows_others) if label in own else None
            for label in _choices(site)
        )
    )


class _Asked(NamedTuple):
    """What a calibration of this name must have been fitted to."""

    name: str
    choices: tuple[str, ...]
    question: str
    options: Mapping[str, str]


def _asked_about(site: CallSite, label: str, name: str) -> _Asked:
    """What llm_tags asks about one label: as llm_prob would, after the descriptions of all labels."""
    kind = site.answer_type
    assert isinstance(kind, Labelling)
    follow_up = kind.follow_ups[kind.choices.index(label)]
    question = "\n".join([*described(kind.choices, kind.descriptions), _question(site), follow_up.text])
    options = {key: value for key, value in _moving_options(site).items() if key != "descriptions"}
    return _Asked(name, follow_up.choices, question, options)


def _fitting(
    kept: KeptCalibration, asked: _Asked, model: str, fingerprint: str | None, shows_others: bool
) -> Calibrator:
    """The calibrator that was kept, if it was fitted to what is asked of this model; raises if not."""
    name = asked.name
    knows = fingerprint is not None and kept.fingerprint is not None
    is_same = knows and fingerprint == kept.fingerprint
    for what, fitted, now in (
        ("the choices", list(kept.choices), list(asked.choices)),
        ("the question", kept.question, asked.question),
        ("the options", dict(kept.options), dict(asked.options)),
        *(() if is_same else (("the model", kept.model, model),)),
    ):
        if fitted != now:
            other = f"{what} {fitted!r}" if shows_others else f"{what} of another call"
            raise OptionError(
                f"the calibration {name!r} was fitted to {other}, not {now!r}: its correction would be "
                f"wrong here; {_mend(name)}"
            )
    if knows and not is_same:
        raise OptionError(
            f"the calibration {name!r} was fitted to {kept.model} before its files, its engine arguments or "
            f"vLLM changed; {_mend(name)}"
        )
    return kept.calibrator


def _mend(name: str) -> str:
    return (
        f"leave calibration := {name!r} out, name another, or fit one to this call with relserve calibrate "
        "decisions"
    )


def _check_rows(site: CallSite, probabilities: Sequence[Sequence[float]], truths: Sequence[int]) -> None:
    if len(truths) < FEWEST_ROWS:
        raise UsageError(
            f"only {len(truths):,} rows have both a label and probabilities, and a calibration needs "
            f"{FEWEST_ROWS}; label more, 100 are a good start"
        )
    if len(set(truths)) < 2:
        label = _choices(site)[truths[0]]
        raise UsageError(
            f"all {len(truths):,} rows have the label {label!r}, which says nothing of the others; add rows "
            "that have another"
        )
    if len(set(map(tuple, probabilities))) == 1:
        raise UsageError(
            f"the model gives all {len(truths):,} rows the same probabilities, so nothing tells them apart; "
            "ask another question, or another model"
        )


def _question(site: CallSite) -> str:
    """Its template, the same for `{}` and `{column}`."""
    return "{}".join(site.binding.template.literals)


def _choices(site: CallSite) -> tuple[str, ...]:
    kind = site.answer_type
    assert isinstance(kind, Decision)
    return kind.choices


def _moving_options(site: CallSite) -> dict[str, str]:
    """The options that move its probabilities, where they are not the default."""
    given = ((name, getattr(site.options, name)) for name in DEFAULTS if name not in _WITHOUT_EFFECT)
    return {name: repr(value) for name, value in given if value != DEFAULTS[name]}
