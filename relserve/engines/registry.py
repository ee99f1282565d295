"""From a model's name to its engine; an engine is shared by all who name its model."""

from __future__ import annotations

import logging
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from relserve.call.hosted_names import START_HERE, hint_of
from relserve.call.hosts import BATCH, host_of, is_url
from relserve.call.options import WORDS
from relserve.call.slo import classes
from relserve.engines.fleet.name import PREFIX, file_of, is_fleet
from relserve.engines.keys import server_key
from relserve.engines.local.told_args import engine_args_of, see_that_none_differs, told_of
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import EngineError, ModelError, UsageError
from relserve.machine.embedded import find_folder
from relserve.machine.private_files import open_private
from relserve.policies.admission.request import SloClasses
from relserve.settings import KV_CACHES, SHARED, Settings, wants_own

if TYPE_CHECKING:
    from relserve.engines.fleet.engine import FleetEngine
    from relserve.engines.shared.engine import SharedEngine

logger = logging.getLogger(__name__)
_when = ""  # before an announcement, in the words of strftime

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
KEPT_LOGS = 20
KINDS = {
    "tiny": "the small model that comes with relserve; for the shipped tables and for trying things out",
    "tiny-sql": "the small model that writes text2sql's queries over small schemas; it answers nothing else",
    "smollm2": "a pretrained model of 135 M parameters, for free text; of the extra relserve[smollm2]",
    "PATH": "a folder with a Hugging Face model (config.json, weights, tokenizer), run by vLLM here",
    "ORG/NAME": "a model of the Hugging Face hub, fetched and run by vLLM here",
    "URL[#NAME]": "an OpenAI-compatible server, e.g. http://127.0.0.1:8000/v1",
    "batch:URL[#NAME]": "the batches of such a server, commonly at half price; see docs/batches.md",
    "fleet:FILE": "several engines of one model, as a TOML file names them; see docs/fleet.md",
    "wordllama": "vectors for llm_embed(), and nothing else; of the extra relserve[embed]",
    "scripted": "no model: made-up but repeatable answers, for dry runs",
}


class Engines:
    """The engines of those who share them: one for each model's name, made when it is first named.

    Safe for several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engines: dict[str, Engine] = {}
        self._asked: dict[str, str] = {}  # what those that were made here were to keep
        self._budgets: dict[str, str] = {}  # and who bounds their steps
        self._named: set[str] = set()  # models that a program names, and not SQL alone

    def find(
        self, name: str, settings: Settings, kv_cache: str | None = None, step_budget: str | None = None,
        is_named: bool = False,
    ) -> Engine:  # fmt: skip
        """The engine of a model, started when it is first asked.

        Args:
            name: one of `KINDS`.
            settings: for an engine that is yet to be made.
            kv_cache: what the caller insists on, one of `settings.KV_CACHES`; None: nothing.
            step_budget: likewise, who bounds its steps.
            is_named: as of `server_key`.

        Raises:
            ModelError: the name leads to no model.
            UsageError: the model's engine is there, or elsewhere, and does not keep that, or is bounded by
                another; or vLLM's arguments say something else.
        """
        with self._lock:
            if is_named:
                self._named.add(host_of(name))
            if name not in self._engines:
                settings = settings if kv_cache is None else replace(settings, kv_cache=kv_cache)
                if kv_cache is not None and is_local(name):
                    see_that_none_differs(settings, "kv_cache")
                if step_budget is not None:
                    settings = replace(settings, step_budget=step_budget)
                    if is_local(name):
                        see_that_none_differs(settings, "step_budget")
                self._engines[name] = _make(name, settings, lambda url: host_of(url) in self._named)
                if is_local(name):
                    self._asked[name] = told_of(settings, "kv_cache") or settings.kv_cache
                    self._budgets[name] = told_of(settings, "step_budget") or settings.step_budget
            asked = self._asked.get(name)
            kept = None if asked is None else getattr(self._engines[name], "kv_cache", asked)
            if kv_cache not in (None, asked or KV_CACHES[0], kept):
                raise UsageError(_why_not("kv_cache", name, str(kv_cache), kept))
            bounded = self._budgets.get(name)
            if step_budget not in (None, bounded):
                raise UsageError(_why_not("step_budget", name, str(step_budget), bounded))
            return self._engines[name]

    def put(self, name: str, engine: Engine) -> None:
        """Have a model's name mean this engine."""
        with self._lock:
            self._engines[name] = engine

    def close(self, model: str | None = None) -> list[str]:
        """End the engine of a model, or all, and free what they hold; as `relserve.close_engines` says."""
        with self._lock:
            names = [name for name in self._engines if model in (None, name)]
            engines = [self._engines.pop(name) for name in names]
            for name in names:
                self._asked.pop(name, None)
                self._budgets.pop(name, None)
        for closing in [spawn(engine.close()) for engine in engines]:
            closing.result()
        return names


def _why_not(setting: str, name: str, wanted: str, kept: str | None) -> str:
    if kept is None or not is_local(name):
        return f"{setting}={wanted!r} is for models that relserve runs on this machine, and {name!r} is none"
    return (
        f"the engine of {name!r} runs already, with {setting}={kept!r}: leave {setting}={wanted!r} out, or "
        f"end that engine first with relserve.close_engines({name!r})"
    )


def _make(name: str, settings: Settings, is_named: Callable[[str], bool]) -> Engine:
    if is_fleet(name):
        if wants_own():
            return own_engine(name, path_of(name), settings, announce)
        return shared_engine(name, settings)
    if is_local(name) and settings.engine == SHARED:
        return shared_engine(name, settings)
    if is_local(name) and not wants_own() and (running := _running(name, settings)) is not None:
        announce(f"{name} is answered by the shared engine that is up; RELSERVE_ENGINE=own starts another")
        return running
    return own_engine(name, path_of(name), settings, announce, is_named=is_named)


def _running(name: str, settings: Settings) -> SharedEngine | None:
    """The resident engine of a model where it is up and takes this process. One that refuses is no error."""
    try:
        engine = shared_engine(name, settings)
        return engine if spawn(engine.is_up()).result() else None
    except (ImportError, EngineError):  # no Unix sockets, no folder for them; a process that was forked
        return None


def is_local(name: str) -> bool:
    """Whether a model's name means one that vLLM runs on this machine."""
    return name not in ("scripted", WORDS) and not is_fleet(name) and not is_url(name)


def path_of(name: str) -> str:
    """The folder or hub id of a local model, or `PREFIX` and a fleet's file, whose names may be relative.

    Of any other model its name.

    Raises:
        ModelError: the name leads to no model.
    """
    if is_fleet(name):
        return f"{PREFIX}{file_of(name)}"
    if not is_local(name):
        return name
    if own := find_folder(name):
        return str(own)
    path = Path(name).expanduser()
    if not path.is_dir():
        see_that_it_may_be_a_hub_id(name)
        return name
    if not (path / "config.json").is_file():
        raise ModelError(f"the folder {name!r} holds no model: it has no config.json; {START_HERE}")
    return str(path.absolute())


def see_that_it_may_be_a_hub_id(name: str) -> None:
    """Refuse a name that no model of the hub can have, or that a host's or ollama's model has.

    Raises:
        ModelError: with the name that was probably meant.
    """
    hint = hint_of(name)
    if hint is None and HUB_ID.fullmatch(name) and not name.startswith((".", "/", "~")):
        return
    if hint is not None:
        raise ModelError(f"no model {name!r} here. {hint} {START_HERE}")
    forms = "; ".join(f"{kind} ({what})" for kind, what in KINDS.items())
    raise ModelError(
        f"no model {name!r}: not a folder here, not a hub id (org/name), not a URL. Give one of: {forms}; "
        f"{START_HERE}"
    )


def own_engine(
    name: str, path: str, settings: Settings, announce: Callable[[str], None], forks: bool = False,
    is_named: Callable[[str], bool] = lambda url: True,
) -> Engine:  # fmt: skip
    """An engine that this process runs.

    Args:
        path, forks: as of `path_of` and of `LocalEngine`.
        is_named: whether by now a program names a server; see `server_key`.
    """
    if is_fleet(name):
        return _fleet(name, path, settings, announce)
    if name == "scripted":
        return ScriptedEngine(remembers=False)
    if name == WORDS:
        from relserve.engines.word_vectors import WordVectorEngine  # and numpy

        return WordVectorEngine()
    if not is_local(name):
        return _of_server(name, settings, is_named)
    from relserve.engines.local.engine import LocalEngine  # and every policy with it, in a fifth of a second
    from relserve.gate.made import make_gate
    from relserve.vllm_plugin.settings import read

    gate = make_gate(
        settings.admission, settings.shares, SloClasses(classes()), name, lambda: read(None, path).first_cost
    )
    return LocalEngine(
        name, path, engine_args=engine_args_of(settings), announce=announce,
        log_path=_log_path(name, settings), forks=forks, gate=gate,
    )  # fmt: skip


def _of_server(name: str, settings: Settings, is_named: Callable[[str], bool]) -> Engine:
    """The engine that asks a server at once, or by batches."""
    from relserve.engines.http.engine import HttpEngine  # and aiohttp with it

    url, _, served = name.removeprefix(BATCH).partition("#")
    http = HttpEngine(
        url, served_model=served or None, timeout_s=settings.timeout_s,
        api_key=lambda: server_key(url, settings, is_named(url)),
        max_retries=settings.max_retries, max_in_flight=settings.max_in_flight,
    )  # fmt: skip
    if not name.startswith(BATCH):
        return http
    from relserve.engines.batch.engine import BatchEngine  # and sqlite3

    return BatchEngine(http, settings.cache_dir)


def _fleet(name: str, path: str, settings: Settings, announce: Callable[[str], None]) -> FleetEngine:
    from relserve.engines.fleet.make import make_fleet  # and the policies of dispatch, and numpy

    def log_path(member: str) -> Path | None:
        return _log_path(member, settings)

    return make_fleet(
        name, file_of(path), settings, engine_args_of(settings), announce, log_path, path_of
    )  # fmt: skip


def shared_engine(name: str, settings: Settings) -> SharedEngine:
    """The resident engine of a model, as this process sees it.

    Raises:
        ModelError: the name leads to no model.
    """
    from relserve.engines.shared.engine import SharedEngine  # needs a system with Unix sockets

    path = path_of(name)
    files = _fleet(name, path, settings, announce) if is_fleet(name) else None
    return SharedEngine(
        name, path, engine_args=engine_args_of(settings), idle_min=settings.engine_idle_min,
        cache_dir=settings.cache_dir, announce=announce, log_path=_log_path(name, settings),
        admission=settings.admission, files=files,
    )  # fmt: skip


def announce(text: str) -> None:
    """Say something to the person who waits, above any progress bar."""
    line = f"{time.strftime(_when)}relserve: {text}\n"
    if "tqdm" not in sys.modules:  # no bar is shown, and importing it takes 20 ms
        sys.stderr.write(line)
        return
    from tqdm.auto import tqdm

    tqdm.write(line, file=sys.stderr, end="")


def announce_with_times() -> None:
    """From now on begin each announcement of this process with its time, as a server's log does."""
    global _when
    _when = "%F %T "


def log_path_of(name: str, settings: Settings) -> Path:
    """The log of a model's engines; it need not exist."""
    plain = re.sub(r"[^\w.-]+", "_", name)[-40:]
    return settings.cache_dir / "logs" / f"engine-{plain}.log"


def _log_path(name: str, settings: Settings) -> Path | None:
    """Where the engine's own output goes; None when the cache folder cannot be used."""
    path = log_path_of(name, settings)
    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        logs = sorted(folder.glob("engine-*.log"), key=lambda p: p.stat().st_mtime)
        for old in logs[:-KEPT_LOGS]:
            old.unlink(missing_ok=True)
        open_private(path).close()  # vLLM's own output may quote prompts
        return path
    except OSError as error:
        announce(f"no engine log: the cache folder {folder} cannot be written ({error.strerror})")
        return None
