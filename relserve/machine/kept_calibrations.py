"""Where calibrations of decisions are kept: a small JSON file each, under the name that calls give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from relserve.errors import OptionError, UsageError
from relserve.evaluation.calibrators import Calibrator, as_dict, calibrator_of
from relserve.machine.private_files import replace_private
from relserve.settings import cache_dir

FORMAT = 1


@dataclass(frozen=True)
class KeptCalibration:
    """What was fitted to labelled rows, and to which call.

    Attributes:
        question: the call's template, with `{}` for each value.
        choices: in their order.
        options: the others that move its probabilities, as text.
        model, fingerprint: that was asked; no fingerprint where the engine tells none.
        num_rows: to which it was fitted.
    """

    question: str
    choices: tuple[str, ...]
    options: Mapping[str, str]
    model: str
    fingerprint: str | None
    num_rows: int
    calibrator: Calibrator


def calibration_path(name: str) -> Path:
    """The file of a name; it need not exist."""
    return cache_dir() / "calibrations" / f"{name}.json"


def calibration_names() -> list[str]:
    """The names that there are."""
    return sorted(path.stem for path in calibration_path("any").parent.glob("*.json"))


def keep_calibration(name: str, found: KeptCalibration) -> Path:
    """Write it, in place of one of this name; gives the file.

    Raises:
        UsageError: it cannot be written.
    """
    path = calibration_path(name)
    told = {each.name: getattr(found, each.name) for each in fields(found)}
    told |= {"format": FORMAT, "calibrator": as_dict(found.calibrator)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_private(path, json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UsageError(
            f"the calibration {name!r} cannot be kept in {path} ({error.strerror}); RELSERVE_CACHE_DIR names "
            "another folder"
        ) from error
    return path


def read_calibration(name: str, lists: bool = True) -> KeptCalibration:
    """What is kept under a name.

    Args:
        lists: the error of a name that is not there lists those that are.

    Raises:
        OptionError: there is nothing, or nothing that can be used.
    """
    path = calibration_path(name)
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told.pop("format") != FORMAT:
            raise ValueError(f"not of format {FORMAT}")
        choices = tuple(told.pop("choices"))
        options = dict(told.pop("options").items())
        calibrator = calibrator_of(told.pop("calibrator"), len(choices))
        return KeptCalibration(**told, choices=choices, options=options, calibrator=calibrator)
    except FileNotFoundError:
        there = f" (there are: {', '.join(calibration_names()) or 'none yet'})" if lists else ""
        raise OptionError(
            f"there is no calibration {name!r}{there}; relserve calibrate decisions --name {name} makes one "
            "from labelled rows"
        ) from None
    except Exception as error:  # of whatever kind: strangers may write there
        raise OptionError(
            f"the calibration {name!r} cannot be used, for its file is not as it was written; "
            f"relserve calibrate decisions --name {name} makes a new one"
        ) from error
