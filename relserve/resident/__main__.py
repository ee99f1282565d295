"""`python -m relserve.resident FILE`: become a process of its own, and serve until there is no more work.

The file holds the task that `relserve.engines.shared.start` wrote. It is run twice: first only to leave its
starter and to set what a process reads once, when it begins.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path

from relserve.engines.shared.start import LOCK_VARIABLE, MODULE
from relserve.machine.memory_limit import lift_memory_limit
from relserve.resident.variables import variables_of

SERVE = "serve"  # the argument of the second time


def main() -> None:
    """See the module."""
    file = sys.argv[-1]
    task = json.loads(Path(file).read_text(encoding="utf-8"))
    if sys.argv[1] != SERVE:
        if os.fork():
            os._exit(0)  # the starter waits for this one
        lift_memory_limit()
        environ = {**os.environ, **variables_of(task["path"], task["engine_args"])}
        os.execve(sys.executable, [sys.executable, "-m", MODULE, SERVE, file], environ)
    gc.disable()  # until the engine is up: a fifth of the time that importing vLLM takes
    lock = int(os.environ.pop(LOCK_VARIABLE))
    os.set_inheritable(lock, False)  # it stays open: that is the lock
    from relserve.resident.process import serve

    serve(task, lock)


if __name__ == "__main__":
    main()
