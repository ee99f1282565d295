"""How often a relation's rows may be read."""

from __future__ import annotations

from enum import Enum


class Reading(Enum):
    """What reading a relation's rows takes."""

    PREFETCH = "it may be read twice"
    ONCE = "something below it can be read only once"
    PLAN = "it tells about a plan; its calls ask nothing"
