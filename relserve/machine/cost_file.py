"""Where cost models are kept, measured by a calibration or learnt: for each model on each kind of machine."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from pathlib import Path

from relserve.machine.hardware import machine_key
from relserve.policies.model.linear import CostModel
from relserve.settings import cache_dir, keeps_learnt

logger = logging.getLogger(__name__)

# Offline, vLLM puts the hub's local copy in place of a hub id.
_HUB_COPY = re.compile(r"/models--([^/]+?)--([^/]+)/snapshots/[^/]+/?$")


def cost_path(model: str) -> Path:
    """The file for a model, as vLLM's configuration names it, on this machine; it need not exist."""
    return cache_dir() / "cost" / f"{stem_of(model)}-{_short(machine_key())}.json"


def learnt_cost_path(model: str) -> Path:
    """The file of what engines of a model have learnt of their steps on this machine; it need not exist."""
    return cost_path(model).with_suffix(".learnt.json")


def find_cost(model: str) -> str:
    """The path of what is known of a model's steps on this machine: a calibration before what was learnt.

    Returns:
        "" if there is nothing that can be used.
    """
    return find_calibration(model) or find_learnt_cost(model)


def find_calibration(model: str) -> str:
    """The path of a usable calibration of a model on this machine; "" if there is none."""
    return _usable(cost_path(model))


def find_learnt_cost(model: str) -> str:
    """The path of what engines of a model have learnt here; "" if there is nothing, or it is not kept."""
    return _usable(learnt_cost_path(model)) if keeps_learnt() else ""


def _usable(path: Path) -> str:
    try:
        CostModel.load(path)
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, TypeError) as error:
        logger.warning(
            "the cost model %s cannot be used (%s); relserve calibrate makes a new one", path, error
        )
        return ""
    return str(path)


def stem_of(model: str) -> str:
    """A model in the name of a file: its own, and a hash of what tells it from others of that name."""
    plain = re.sub(r"[^\w.-]+", "_", Path(model).name)[-40:]
    return f"{plain}-{_short(model_key(model))}"


def model_key(model: str) -> str:
    """What a model's step times depend on: of a folder its config.json, wherever it is; else its hub id."""
    if copy := _HUB_COPY.search(model):
        return f"{copy[1]}/{copy[2]}"
    try:
        return json.dumps(
            json.loads((Path(model) / "config.json").read_text(encoding="utf-8")), sort_keys=True
        )
    except (OSError, ValueError):
        return model


def _short(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:8]
