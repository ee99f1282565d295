"""The models that relserve brings along, by the names that calls give them."""

from __future__ import annotations

from relserve import tiny, tiny_sql
from relserve.errors import ModelError

FOLDERS = {"tiny": tiny.MODEL_DIR, "tiny-sql": tiny_sql.MODEL_DIR}
_TRAINING = {"tiny": "training.tiny.train", "tiny-sql": "training.tiny_sql.train"}


def check_embedded(name: str) -> None:
    """See that an embedded model's files are there; any other name passes.

    Raises:
        ModelError: they are not.
    """
    if name in FOLDERS and not (FOLDERS[name] / "config.json").is_file():
        raise ModelError(
            f"the model {name!r} is not in this copy of relserve: {FOLDERS[name]} has no config.json. "
            f"Install a release, or train the model in a clone of the repository: "
            f"python -m {_TRAINING[name]} --help"
        )


def called(path: str) -> str:
    """What people call the model in a folder: its name if it is embedded, else the path."""
    return next((name for name, folder in FOLDERS.items() if str(folder) == path), path)
