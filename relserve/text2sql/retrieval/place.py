"""Where the indexes of databases' values lie on disk."""

from __future__ import annotations

from pathlib import Path

from relserve.settings import cache_dir


def values_dir() -> Path:
    """The folder of the indexes; each is a folder in it, and holds texts of a database in clear."""
    return cache_dir() / "values"


def value_indexes() -> list[Path]:
    """The indexes that there are, unfinished ones too."""
    folder = values_dir()
    return sorted(each for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []
