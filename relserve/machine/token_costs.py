"""What a token in memory costs each step, by type of cache: as `relserve calibrate` measured it."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path
from typing import NamedTuple

from relserve.machine.cost_file import cost_path

logger = logging.getLogger(__name__)


class TokenCosts(NamedTuple):
    """Seconds that a cached token adds to each step in which its row decodes.

    Attributes:
        kv_s: where keys and values are kept.
        hidden_s: where the layers' inputs are kept.
    """

    kv_s: float
    hidden_s: float


def token_costs_path(model: str) -> Path:
    """The file for a model, as vLLM's configuration names it, on this machine; it need not exist."""
    return cost_path(model).with_suffix(".tokens.json")


def find_token_costs(model: str) -> TokenCosts | None:
    """What was measured of a model on this machine; None where there is nothing that can be used."""
    path = token_costs_path(model)
    try:
        found = TokenCosts(**json.loads(path.read_text()))
        if not all(math.isfinite(seconds) and seconds >= 0 for seconds in found):
            raise ValueError(f"seconds of {found}")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        logger.warning("%s cannot be used (%s); relserve calibrate makes a new one", path, error)
        return None
    return found


def save_token_costs(path: Path, costs: TokenCosts) -> None:
    """Write what was measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(costs._asdict(), indent=1) + "\n")
