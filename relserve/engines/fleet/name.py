"""How a fleet is named where a model is: fleet:FILE."""

from __future__ import annotations

from pathlib import Path

PREFIX = "fleet:"


def is_fleet(name: str) -> bool:
    """Whether a model's name means a fleet."""
    return name.startswith(PREFIX)


def file_of(name: str) -> Path:
    """The file of a fleet, whose name may be relative or a link: the same for all who mean that file."""
    return Path(name.removeprefix(PREFIX)).expanduser().resolve()
