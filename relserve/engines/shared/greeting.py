"""Who greets whom: what a resident engine is started with, and why it may refuse a client."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from relserve.errors import (
    EngineDeadError,
    EngineError,
    EngineStartError,
    ModelError,
    OptionError,
    RelserveError,
)
from relserve.machine.embedded import folder_of
from relserve.settings import ADMISSIONS

PROTOCOL = 1  # of the messages; a resident engine of another one is refused
_ERRORS: dict[str, type[RelserveError]] = {
    kind.__name__: kind for kind in (EngineStartError, EngineDeadError, ModelError, OptionError)
}


class Resident(NamedTuple):
    """What a resident engine is to be, or is, started with."""

    model: str
    path: str
    engine_args: Mapping[str, Any]
    idle_min: float
    version: str
    log_path: Path | None
    cache_dir: Path
    admission: str = ADMISSIONS[0]

    @property
    def named(self) -> str:
        """The model as a command takes it in any folder."""
        is_folder = folder_of(self.model) is None and os.path.isdir(self.path)
        return shlex.quote(self.path if is_folder else self.model)

    def hello(self, service: str) -> dict[str, Any]:
        """The first message to it."""
        return {
            "service": service, "protocol": PROTOCOL, "relserve": self.version,
            "engine_args": json.loads(json.dumps(dict(self.engine_args), default=str)),
            "admission": self.admission,
        }  # fmt: skip


def refusal(mine: Mapping[str, Any], theirs: Mapping[str, Any], model: str) -> str | None:
    """Why a resident engine does not serve a client, with how to mend it; None where it does.

    Args:
        mine, theirs: greetings: of the engine, if it were a client, and of the client.
    """
    mend = (
        f"`relserve engine stop --model {model}` ends it for everybody, RELSERVE_ENGINE=own starts another "
        "for this process alone"
    )
    if any(theirs.get(name) != mine[name] for name in ("protocol", "relserve")):
        version = theirs.get("relserve") or "another release"
        return f"the shared engine for {model} runs relserve {mine['relserve']}, this is {version}; {mend}"
    args, wanted = mine["engine_args"], theirs.get("engine_args") or {}
    if args != wanted:
        return (
            f"the shared engine for {model} was started with the engine arguments {_in_words(args)}, this "
            f"process has {_in_words(wanted)}; {mend}"
        )
    admission = theirs.get("admission") or ADMISSIONS[0]
    if admission not in (ADMISSIONS[0], mine["admission"]):  # who asks for none takes the engine's
        return (
            f"the shared engine for {model} was started with admission {mine['admission']!r}, this process "
            f"has {admission!r}; {mend}"
        )
    return None


def error_of(name: str, message: str) -> RelserveError:
    """The error that a resident engine told by its class's name."""
    return _ERRORS.get(name, EngineError)(message)


def _in_words(engine_args: Mapping[str, Any]) -> str:
    return json.dumps(engine_args, sort_keys=True, default=str) if engine_args else "none"
