"""The fleet file: which members there are, and who decides which of them gets what.

    model = "tiny"          # what all members answer with; may be left out where all are servers
    dispatch = "predicted"  # a name in `relserve/policies/dispatch/variants.py`

[[members]]
name = "here"
replicas = 2            # here-1 and here-2
engine_args = { max_num_seqs = 64 }

[[members]]
name = "there"
url = "http://10.0.0.7:8000/v1"
weight = 2.0
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

from relserve.call.hosted_names import START_HERE
from relserve.errors import ModelError, UsageError
from relserve.policies.dispatch.variants import FORMER, NAMES

DISPATCH = "predicted"
MOST_REPLICAS = 1000
ROLES = ("", "prefill", "decode")
KEYS: dict[str, type | tuple[type, ...]] = {"model": str, "dispatch": str, "address": str, "members": list}
MEMBER_KEYS: dict[str, type | tuple[type, ...]] = {
    "name": str, "url": str, "api_key": str, "replicas": int, "machine": str, "gpus": (int, float),
    "engine_args": dict, "weight": (int, float), "role": str,
}  # fmt: skip
ONLY_OF_STARTED = ("replicas", "machine", "gpus", "engine_args")  # members with a URL run already
IN_WORDS = {str: "a text", int: "a whole number", (int, float): "a number", dict: "a table", list: "tables"}
_NAME = re.compile(r"[\w.-]{1,60}")


@dataclass(frozen=True)
class MemberSpec:
    """A member as the file has it, replicas one by one.

    Attributes:
        url: of a server that runs already; "": the fleet starts the member.
        machine: the Ray node that it is to run on; "": any.
        gpus: that it takes.
        engine_args: further arguments of vLLM.
        weight: its throughput beside others'.
        role: "" for everything.
    """

    name: str
    url: str = ""
    api_key: str = ""
    machine: str = ""
    gpus: float = 0.0
    engine_args: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    weight: float = 1.0
    role: str = ""


@dataclass(frozen=True)
class FleetFile:
    """What a fleet file says.

    Attributes:
        model: of all members; "": the one that its servers serve.
        address: of the Ray cluster; "": one on this machine, where a member needs one.
    """

    path: Path
    members: tuple[MemberSpec, ...]
    model: str = ""
    dispatch: str = DISPATCH
    address: str = ""


def read_fleet(path: Path) -> FleetFile:
    """Read a fleet file.

    Raises:
        ModelError: it is not there.
        UsageError: it says what cannot be; the message names the place and a remedy.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(
            f"no fleet file {path}: {error.strerror}; docs/fleet.md shows what is to be in it"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no TOML file: {error}") from error
    _check(str(path), found, KEYS)
    dispatch = found.get("dispatch", DISPATCH)
    dispatch = FORMER.get(dispatch, dispatch)
    if dispatch not in NAMES:
        raise UsageError(
            f"{path}: no dispatch policy {dispatch!r}{_meant(dispatch, NAMES)}; there are: {', '.join(NAMES)}"
        )
    tables = found.get("members")
    if not tables:
        raise UsageError(f"{path} names no member; add one, as in [[members]] name = 'a' url = 'http://..'")
    members: list[MemberSpec] = []
    for number, table in enumerate(tables, 1):
        members += _members(f"{path}, member {number}", table)
    names = [member.name for member in members]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(
            f"{path}: given more than once: {', '.join(twice)}; each member, and each replica "
            "(NAME-1, NAME-2, ..), has a name of its own"
        )
    if len({bool(member.url) for member in members}) > 1:
        raise UsageError(
            f"{path} has members with a url and members that the fleet starts: whether these have the same "
            "model cannot be told, so make two fleets of them"
        )
    model = found.get("model", "")
    if not model and not all(member.url for member in members):
        raise UsageError(
            f"{path} says no model; add a line such as model = 'tiny' (a folder, a hub id): members without "
            f"a url are started with it; {START_HERE}"
        )
    return FleetFile(path, tuple(members), model, dispatch, found.get("address", ""))


def _members(where: str, table: Any) -> list[MemberSpec]:
    """The replicas of one table of the file."""
    if not isinstance(table, dict):
        raise UsageError(f"{where} is {table!r}, no table; write [[members]] and its keys below it")
    _check(where, table, MEMBER_KEYS)
    name = table.get("name", "")
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{where} has {'no name' if not name else f'the name {name!r}'}; add name = '..' of letters, "
            "digits, '_', '-' and '.'"
        )
    where = f"{where} ({name})"
    url = table.get("url", "")
    if url and (extra := [key for key in ONLY_OF_STARTED if key in table]):
        raise UsageError(
            f"{where}: {' and '.join(extra)} {'is' if len(extra) == 1 else 'are'} for members that the fleet "
            "starts, and this one has a url: leave out one or the other"
        )
    if url and not re.match(r"https?://[^/]", url):
        raise UsageError(f"{where}: {url!r} is not the URL of a server; write it as 'http://host:port/v1'")
    role = table.get("role", "")
    if role not in ROLES:
        there = ", ".join(repr(each) for each in ROLES)
        raise UsageError(f"{where}: no role {role!r}{_meant(role, ROLES)}; there are: {there}")
    weight = _number(where, table, "weight", 1.0, least=1e-6)
    gpus = _number(where, table, "gpus", 0.0, least=0.0)
    replicas = int(_number(where, table, "replicas", 1, least=1))
    names = [name] if "replicas" not in table else [f"{name}-{i}" for i in range(1, replicas + 1)]
    return [
        MemberSpec(
            each, url, table.get("api_key", ""), table.get("machine", ""), gpus,
            MappingProxyType(table.get("engine_args", {})), weight, role,
        )
        for each in names
    ]  # fmt: skip


def _check(where: str, table: Mapping[str, Any], keys: Mapping[str, type | tuple[type, ...]]) -> None:
    """See that a table has known keys alone, with values of their types."""
    for key, value in table.items():
        if key not in keys:
            meant = _meant(key, list(keys))
            raise UsageError(f"{where}: no key {key!r}{meant}; there are: {', '.join(keys)}")
        if not isinstance(value, keys[key]) or (isinstance(value, bool) and keys[key] is not bool):
            raise UsageError(f"{where}: {key} is {value!r}, and must be {IN_WORDS[keys[key]]}")


def _number(where: str, table: Mapping[str, Any], key: str, default: float, least: float) -> float:
    found = table.get(key, default)
    most = MOST_REPLICAS if key == "replicas" else inf
    if not least <= found <= most or found == inf:
        upto = f" to {most:,.0f}" if most < inf else " on"
        raise UsageError(f"{where}: {key} is {found!r}, and must be from {least:g}{upto}")
    return float(found)


def _meant(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, [each for each in known if each], 1)
    return f" (did you mean {near[0]!r}?)" if near else ""
