"""Where learnt output lengths are kept: one file for each model, written whole by whoever learnt last."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from relserve.machine.cost_file import stem_of
from relserve.policies.model.lengths import LengthLearner
from relserve.settings import cache_dir, keeps_learnt

logger = logging.getLogger(__name__)

FORMAT = 1  # of the files; those of another format are left alone until they are written anew
MAX_BYTES = 8 << 20  # of a file that is read; the most that a learner's bounds let one have is half of it
MAX_WHY = 120  # characters of what is wrong with a file; it may quote it


def lengths_dir() -> Path:
    """The folder of the files."""
    return cache_dir() / "lengths"


def lengths_files() -> list[Path]:
    """The files that there are."""
    return sorted(lengths_dir().glob("*.json"))


def lengths_path(model: str) -> Path:
    """The file for a model, as vLLM's configuration names it; it need not exist."""
    return lengths_dir() / f"{stem_of(model)}.json"


def find_lengths(model: str) -> LengthLearner:
    """What is known of a model's outputs; nothing where that is not kept."""
    return read_lengths(lengths_path(model)) if keeps_learnt() else LengthLearner()


def read_lengths(path: Path) -> LengthLearner:
    """What a file holds; nothing where there is none, or where it cannot be used, which is logged."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"over {MAX_BYTES >> 20} MiB")
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise ValueError(f"of format {found['format']!r}, not {FORMAT}")
        return LengthLearner.from_dict(found)
    except FileNotFoundError:
        return LengthLearner()
    except Exception as error:  # of whatever kind: strangers may write there
        why = repr(error)[:MAX_WHY]
        logger.warning("lengths of answers are learnt anew, for %s cannot be used (%s)", path, why)
        return LengthLearner()


def text_of(general: str, kinds: Mapping[str, str]) -> str:
    """A file's text, one line a kind.

    Args:
        general, kinds: the parts of `LengthLearner.as_dict`, as JSON.
    """
    lines = ",\n".join(f"{json.dumps(kind)}: {text}" for kind, text in kinds.items())
    return f'{{"format": {FORMAT}, "general": {general}, "kinds": {{\n{lines}\n}}}}\n'
