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
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from relserve.call.hosted_names import START_HERE
from relserve.call.hosts import without_user
from relserve.errors import ModelError, UsageError
from relserve.policies.dispatch.variants import FORMER, NAMES

DISPATCH = "predicted"
MOST = sys.float_info.max  # of a number that is finite
ROLES = ("", "prefill", "decode")
ONLY_OF_STARTED = ("replicas", "machine", "gpus", "engine_args")  # members with a URL run already
IN_WORDS = {  # what msgspec expected
    "`str`": "a text", "`int`": "a whole number", "`float`": "a number", "`object`": "a table",
    "`array`": "tables", ">=": "from", "<=": "up to",
}  # fmt: skip
_NAME = re.compile(r"[\w.-]{1,60}")


class MemberSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
    gpus: Annotated[float, Meta(ge=0, le=MOST)] = 0.0
    engine_args: dict[str, Any] = {}
    weight: Annotated[float, Meta(ge=1e-6, le=MOST)] = 1.0
    role: str = ""


class MemberKeys(MemberSpec, frozen=True):
    """A member as the file has it, its replicas together.

    Attributes:
        replicas: how many there are, each with a number behind its name; 0: one, without.
    """

    name: str = ""
    replicas: Annotated[int, Meta(ge=1, le=1000)] = 0


class FleetKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fleet file's keys."""

    model: str = ""
    dispatch: str = DISPATCH
    address: str = ""
    members: list[Any] = []


Keys = TypeVar("Keys", MemberKeys, FleetKeys)


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
    fleet = _read(str(path), found, FleetKeys)
    dispatch = FORMER.get(fleet.dispatch, fleet.dispatch)
    if dispatch not in NAMES:
        raise UsageError(
            f"{path}: no dispatch policy {dispatch!r}{_meant(dispatch, NAMES)}; there are: {', '.join(NAMES)}"
        )
    if not fleet.members:
        raise UsageError(f"{path} names no member; add one, as in [[members]] name = 'a' url = 'http://..'")
    members: list[MemberSpec] = []
    for number, table in enumerate(fleet.members, 1):
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
    if not fleet.model and not all(member.url for member in members):
        raise UsageError(
            f"{path} says no model; add a line such as model = 'tiny' (a folder, a hub id): members without "
            f"a url are started with it; {START_HERE}"
        )
    return FleetFile(path, tuple(members), fleet.model, dispatch, fleet.address)


def _members(where: str, table: Any) -> list[MemberSpec]:
    """The replicas of one table of the file."""
    if not isinstance(table, dict):
        raise UsageError(f"{where} is {table!r}, no table; write [[members]] and its keys below it")
    name = table.get("name", "")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(
            f"{where} has {'no name' if not name else f'the name {name!r}'}; add name = '..' of letters, "
            "digits, '_', '-' and '.'"
        )
    where = f"{where} ({name})"
    member = _read(where, table, MemberKeys)
    url, role = member.url, member.role
    if url and (extra := [key for key in ONLY_OF_STARTED if key in table]):
        raise UsageError(
            f"{where}: {' and '.join(extra)} {'is' if len(extra) == 1 else 'are'} for members that the fleet "
            "starts, and this one has a url: leave out one or the other"
        )
    if url and not re.match(r"https?://[^/]", url):
        shown = without_user(url)
        raise UsageError(f"{where}: {shown!r} is not the URL of a server; write it as 'http://host:port/v1'")
    if role not in ROLES:
        there = ", ".join(repr(each) for each in ROLES)
        raise UsageError(f"{where}: no role {role!r}{_meant(role, ROLES)}; there are: {there}")
    names = [f"{name}-{i + 1}" for i in range(member.replicas)] or [name]
    facts = {key: getattr(member, key) for key in MemberSpec.__struct_fields__}
    return [MemberSpec(**{**facts, "name": each}) for each in names]


def _read(where: str, table: Any, kind: type[Keys]) -> Keys:
    """A table of known keys alone, with values of their types and within their bounds."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        what, _, key = str(error).rstrip("`").partition(" - at `$.")
    if not key:  # of which msgspec says "Object contains unknown field `KEY"
        key, known = what.rpartition("`")[2], kind.__struct_fields__
        raise UsageError(f"{where}: no key {key!r}{_meant(key, known)}; there are: {', '.join(known)}")
    wanted = what.removeprefix("Expected ").partition(",")[0]
    for term, words in IN_WORDS.items():
        wanted = wanted.replace(term, words)
    raise UsageError(f"{where}: {key} is {table[key]!r}, and must be {wanted}")


def _meant(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, [each for each in known if each], 1)
    return f" (did you mean {near[0]!r}?)" if near else ""
