"""Ctrl-C that comes while Python is in a finalizer or a callback of its own, where it can only ignore errors."""

from __future__ import annotations

import _thread
import sys
from typing import Any


def send_ignored_ctrl_c_again() -> None:
    """From now on a KeyboardInterrupt that would be ignored comes again, as if Ctrl-C were pressed anew."""
    shown = sys.unraisablehook

    def hook(ignored: Any) -> None:
        if isinstance(ignored.exc_value, KeyboardInterrupt):
            _thread.interrupt_main()
        else:
            shown(ignored)

    sys.unraisablehook = hook
