"""The settings: declared once with default, unit and help; read from RELSERVE_* environment variables."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from relserve.errors import UsageError

PREFIX = "RELSERVE_"
OPENAI = "openai"  # among RELSERVE_ENGINE_ARGS: those of vLLM's web app
# Variables that the tests, benchmarks, `relserve serve` and the engine's own child process read.
NOT_SETTINGS = (
    "RELSERVE_DATA", "RELSERVE_DUCKDB_TESTS",
    "RELSERVE_ENGINE_PARENT", "RELSERVE_ENGINE_LOG", "RELSERVE_ENGINE_STATE",
    "RELSERVE_RESIDENT_LOCK",
    "RELSERVE_HTTP_TOKEN", "RELSERVE_FORMER_MEMORY_LIMIT",
)  # fmt: skip
# Settings of before, and where what they said is to stand now.
MOVED = {
    "RELSERVE_TRACES": "OpenTelemetry's own variables say it: OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318",
    "RELSERVE_OPENAI_ARGS": 'they stand in RELSERVE_ENGINE_ARGS, as {"openai": {..}}',
}
SHARED, OWN = "shared", "own"
DEFAULT_HOST = "default"  # in RELSERVE_API_KEY_HOSTS: the server of the default model
_OPENAI = "api.openai.com"
# What a local model's rows keep of the tokens that they have computed; see docs/hybrid_cache.md.
KV_CACHES = ("kv", "hidden", "hybrid")
# Who decides which requests a local engine starts; see docs/admission.md.
ADMISSIONS = ("off", "in_time", "saber")
# Who decides how many tokens a local model's step computes, where nobody says; see docs/slo.md.
STEP_BUDGET = "slack"
STEP_BUDGETS = r"off|slack(-in-order)?|lens|static(-[1-9]\d*)?"


# Earlier names of policies, which configurations may still have.
_FORMER_ADMISSIONS = {"ours": "in_time"}
_FORMER_BUDGETS = {"ours": "slack", "ours-in-order": "slack-in-order"}


def _setting(default: Any, help: str, parse: Callable[[str], Any] = str) -> Any:
    return field(default=default, metadata={"help": help, "parse": parse})


_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def _flag(text: str) -> bool:
    return {**dict.fromkeys(_ON, True), **dict.fromkeys(_OFF, False)}[text.strip().lower()]


def _json_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _at_least(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if (number := int(text)) < least:
            raise ValueError(f"below {least}")
        return number

    return parse


def _engine(text: str) -> str:
    return (SHARED, OWN)[(SHARED, OWN).index(text.strip().lower())]


def kv_cache_of(text: str) -> str:
    """One of KV_CACHES; raises ValueError."""
    return KV_CACHES[KV_CACHES.index(text.strip().lower())]


def _admission(text: str) -> str:
    name = text.strip().lower()
    name = _FORMER_ADMISSIONS.get(name, name)
    if name not in ADMISSIONS and not re.fullmatch("static-[1-9][0-9]{0,5}", name):
        raise ValueError("none of them")
    return name


def step_budget_of(text: str) -> str:
    """A policy's name, which engines read; raises ValueError."""
    name = text.strip().lower()
    name = _FORMER_BUDGETS.get(name, name)
    if not re.fullmatch(STEP_BUDGETS, name):
        raise ValueError("none of them")
    return name


def _hosts(text: str) -> tuple[str, ...]:
    """Hosts with commas between; a URL is none."""
    hosts = tuple(filter(None, (each.strip().lower() for each in text.split(","))))
    if any("/" in each for each in hosts):
        raise ValueError("a host is written without http:// and path")
    return hosts


def _engine_args(text: str) -> dict[str, Any]:
    given = _json_object(text)
    if not isinstance(given.get(OPENAI, {}), dict):
        raise ValueError("no object of arguments")
    return given


def _weights(text: str) -> dict[str, float]:
    weights = _json_object(text)
    for weight in weights.values():
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < math.inf:
            raise ValueError("a weight is a positive number")
    return weights


def _number(least: float, most: float = sys.float_info.max) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if not least <= (number := float(text)) <= most:
            raise ValueError(f"not from {least} to {most}")
        return number

    return parse


def _folder(text: str) -> Path:
    return Path(os.path.abspath(Path(text).expanduser()))


def cache_dir() -> Path:
    """The cache folder alone: for an engine's process, which a mistake in another setting must not end."""
    if given := os.environ.get(PREFIX + "CACHE_DIR"):
        return _folder(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "relserve"


def keeps_learnt() -> bool:
    """Whether what engines learn is kept on disk; for an engine's process too, see `cache_dir`."""
    return os.environ.get(PREFIX + "KEEP_LEARNT", "").strip().lower() not in _OFF


def names_a_model() -> bool:
    """Whether the user set the model of the process, be it to what would be the default."""
    return bool(os.environ.get(PREFIX + "MODEL"))


def wants_own() -> bool:
    """Whether the user wants each process to have engines of its own; a fleet is shared unless they do."""
    return os.environ.get(PREFIX + "ENGINE", "").strip().lower() == OWN


def prefer_shared() -> None:
    """Have this process use shared engines, unless the user decided."""
    os.environ.setdefault(PREFIX + "ENGINE", SHARED)


def prefer_own() -> None:
    """Have this process start engines of its own, unless the user decided."""
    os.environ.setdefault(PREFIX + "ENGINE", OWN)


@dataclass(frozen=True)
class Settings:
    """Every setting. RELSERVE_MODEL sets `model`, and so on."""

    model: str = _setting(
        "tiny", "the model of calls that name none: 'tiny', a path, a hub id, a URL or fleet:FILE"
    )
    api_key: str = _setting("", "key for HTTP servers; OPENAI_API_KEY is used when this is unset")
    api_key_hosts: tuple[str, ...] = _setting(
        (DEFAULT_HOST,),
        "the servers that get the key: HOST or HOST:PORT, separated by commas; 'default' is the server of "
        "RELSERVE_MODEL, or if that is not a URL, the servers that --model and model= in Python name",
        _hosts,
    )
    model_hosts: tuple[str, ...] = _setting(
        (),
        "further servers that calls in a database's views and macros may ask: HOST or HOST:PORT, separated "
        "by commas, '*' for any; the default model's server and those in your own statements are always "
        "allowed",
        _hosts,
    )
    timeout_s: float = _setting(600.0, "longest wait for one HTTP reply, in seconds, above 0", _number(1e-9))
    max_retries: int = _setting(
        6, "how often one HTTP request is retried after 429, 5xx or a time-out, at least 0", _at_least(0)
    )
    max_in_flight: int = _setting(
        256, "the most HTTP requests that are at one server at the same time, at least 1", _at_least(1)
    )
    engine_args: Mapping[str, Any] = _setting(
        None,
        'JSON object of vLLM engine arguments, e.g. {"max_num_seqs": 64}; its member "openai" has '
        "arguments of vLLM's API server, for `relserve serve --openai`, e.g. "
        '{"openai": {"tool_call_parser": "hermes"}}',
        _engine_args,
    )
    engine: str = _setting(
        OWN,
        "who runs a local model: 'shared', one process for all processes of this user, started on demand, "
        "or 'own', this process for itself. If unset, the commands sql, explain, shell, ask, evaluate, "
        "serve and mcp, and fleets, use 'shared'; Python programs use a shared engine if one runs, and "
        "otherwise 'own'",
        _engine,
    )
    engine_idle_min: float = _setting(
        15.0, "after how many minutes without work a shared engine ends; 0: never", _number(0)
    )
    kv_cache: str = _setting(
        "kv",
        "what a local model caches of each computed token: 'kv', its keys and values; 'hidden', the hidden "
        "states from which they are computed, half the size; 'hybrid', the better of the two for each row",
        kv_cache_of,
    )
    admission: str = _setting(
        ADMISSIONS[0],
        "how many requests a local engine or a fleet runs at a time: 'off', all; 'in_time' and 'saber', as "
        "many as the limits on latency allow; 'static-N', N. The other requests wait: users take turns, or "
        "under 'saber' stand in one queue",
        _admission,
    )
    shares: Mapping[str, float] = _setting(
        None,
        'JSON object of users\' weights when they take turns, e.g. {"ann": 2}; other users have weight 1',
        _weights,
    )
    cache_dir: Path = _setting(
        None,
        "the folder of what relserve keeps: answers, engine logs, calibrations and more "
        "(default ~/.cache/relserve)",
        _folder,
    )
    answer_cache_mb: int = _setting(
        1024, "largest size of the answer cache, in whole megabytes; 0: no answers are kept", _at_least(0)
    )
    keep_learnt: bool = _setting(
        True,
        "whether learnt lengths of answers and step times are kept on disk for the next engine: 1 (default) "
        "or 0",
        _flag,
    )
    keep_error_texts: bool = _setting(
        False,
        "whether the failed rows that a command keeps for `relserve sql --errors` keep their texts: 1 or 0 "
        "(default)",
        _flag,
    )
    deadline_s: float | None = _setting(
        None,
        "the deadline of calls that give none, in seconds: rows without an answer by then are NULL; "
        "0.001 to 604800",
        _number(0.001, 604800),
    )
    slo_classes: Mapping[str, Any] = _setting(
        None,
        'JSON object of classes of limits on the times of tokens, e.g. {"interactive": {"ttft": "1 s", '
        '"tpot": "50 ms"}}',
        _json_object,
    )
    slo: str = _setting("", "the class of limits for calls without slo; unset: no limits")
    step_budget: str = _setting(
        STEP_BUDGET,
        "the policy that sets the number of tokens of each step of a local model, to keep limits: 'slack' "
        "(default), 'lens', 'static-N', 'slack-in-order', or 'off'",
        step_budget_of,
    )
    prices: Path | None = _setting(None, "a TOML file with prices of models, in US dollars", _folder)
    hour_price: float | None = _setting(
        None, "US dollars for an hour of this machine while a local model works, from 0 on", _number(0)
    )
    max_rows: int | None = _setting(
        None, "the most rows that a statement may ask a model about; equal prompts count once", _at_least(0)
    )
    max_tokens_total: int | None = _setting(
        None, "the most tokens that a statement may take, of prompts and answers together", _at_least(0)
    )
    max_cost: float | None = _setting(None, "the most US dollars that a statement may cost", _number(0))
    confirm_above: float = _setting(
        1.0, "commands on a terminal ask before a statement that may cost more US dollars", _number(0)
    )
    progress: bool | None = _setting(
        None, "whether progress bars are shown: 1, 0, or unset for terminals and notebooks", _flag
    )

    @property
    def vllm_args(self) -> Mapping[str, Any]:
        """Of `engine_args`, those of the engine itself."""
        return {name: value for name, value in self.engine_args.items() if name != OPENAI}

    @property
    def openai_args(self) -> Mapping[str, Any]:
        """Of `engine_args`, those of vLLM's web app."""
        found: Mapping[str, Any] = self.engine_args.get(OPENAI, {})
        return found

    def __post_init__(self) -> None:
        for name in ("engine_args", "shares", "slo_classes"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, {})
        if self.cache_dir is None:
            object.__setattr__(self, "cache_dir", cache_dir())


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings as the environment has them.

    Raises:
        UsageError: a RELSERVE_* variable that is no setting, or a value that cannot be read.
    """
    environ = os.environ if environ is None else environ
    known = {PREFIX + f.name.upper(): f for f in fields(Settings)}
    given: dict[str, Any] = {}
    for name, text in environ.items():
        if not name.startswith(PREFIX) or name in NOT_SETTINGS or not text:
            continue
        if name not in known:
            if name in MOVED:
                raise UsageError(f"{name} is no setting of relserve any more: {MOVED[name]}")
            near = get_close_matches(name, known, 1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"{name} is no setting of relserve.{meant} There are: {', '.join(known)}")
        setting = known[name]
        try:
            given[setting.name] = setting.metadata["parse"](text)
        except (ValueError, KeyError) as error:
            raise UsageError(f"{name}={text!r} cannot be read: {setting.metadata['help']}") from error
    if not given.get("api_key"):
        given["api_key"] = environ.get("OPENAI_API_KEY", "")
        given.setdefault("api_key_hosts", (DEFAULT_HOST, _OPENAI))
    return Settings(**given)
