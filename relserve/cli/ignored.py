"""Ctrl-C that comes while Python runs a finalizer or a callback of its own, where errors are ignored."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any

AGAIN_S = 0.05


def send_ignored_ctrl_c_again() -> None:
    """From now on a KeyboardInterrupt that would be ignored comes again, as if Ctrl-C were pressed anew.

    A moment later, for in this one it would be ignored again.
    """
    shown = sys.unraisablehook

    def hook(ignored: Any) -> None:
        if not isinstance(ignored.exc_value, KeyboardInterrupt):
            shown(ignored)
            return
        again = threading.Timer(AGAIN_S, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        again.daemon = True
        again.start()

    sys.unraisablehook = hook
