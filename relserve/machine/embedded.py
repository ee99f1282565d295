"""The models that have names of their own: those that relserve brings along, and that of another package."""

from __future__ import annotations

from pathlib import Path

from relserve import tiny, tiny_sql
from relserve.errors import ModelError
from relserve.machine import packaged

FOLDERS = {"tiny": tiny.MODEL_DIR, "tiny-sql": tiny_sql.MODEL_DIR}
_TRAINING = {"tiny": "training.tiny.train", "tiny-sql": "training.tiny_sql.train"}


def folder_of(name: str) -> Path | None:
    """The folder of a model that has a name of its own, or where it will be; None for any other name."""
    return packaged.folder() if name == packaged.NAME else FOLDERS.get(name)


def find_folder(name: str) -> Path | None:
    """As `folder_of`, of a model whose files are there, or can be made.

    Raises:
        ModelError: they are not.
    """
    if name == packaged.NAME:
        packaged.check_installed()
    if name in FOLDERS and not (FOLDERS[name] / "config.json").is_file():
        raise ModelError(
            f"the model {name!r} is not in this copy of relserve: {FOLDERS[name]} has no config.json. "
            f"Install a release, or train the model in a clone of the repository: "
            f"python -m {_TRAINING[name]} --help"
        )
    return folder_of(name)


def called(path: str) -> str:
    """What people call the model in a folder: the name of its own if it has one, else the path."""
    return next((name for name in (*FOLDERS, packaged.NAME) if str(folder_of(name)) == path), path)
