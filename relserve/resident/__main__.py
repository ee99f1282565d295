"""`python -m relserve.resident TASK`: become a process of its own, and serve until there is no more work.

The task is what `relserve.engines.shared.start` wrote. It is run twice: first only to leave its starter and
to set what a process reads once, when it begins.
"""

from __future__ import annotations

import gc
import json
import os
import sys

from relserve.engines.shared.start import LOCK_VARIABLE, MODULE
from relserve.resident.variables import variables_of

SERVE = "serve"  # the argument of the second time


def main() -> None:
    """See the module."""
    if sys.argv[1] != SERVE:
        if os.fork():
            os._exit(0)  # the starter waits for this one
        task = json.loads(sys.argv[1])
        environ = {**os.environ, **variables_of(task["path"], task["engine_args"])}
        os.execve(sys.executable, [sys.executable, "-m", MODULE, SERVE, sys.argv[1]], environ)
    gc.disable()  # until the engine is up: a fifth of the time that importing vLLM takes
    os.set_inheritable(int(os.environ.pop(LOCK_VARIABLE)), False)  # it stays open: that is the lock
    from relserve.resident.process import serve

    serve(json.loads(sys.argv[2]))


if __name__ == "__main__":
    main()
