"""The users of a server, in one JSON file that only its owner may read.

    {"nonce": "q83v..", "users": [{"name": "ann", "verifier": "SCRAM-SHA-256$4096:..", "is_admin": false,
                "models": ["tiny"], "tokens_per_hour": 100000, "deadline_s": 60, "slo": "interactive",
                "keys": ["sha256:..:k3Xz"]}]}

The nonce is the file's own secret, of chance: what a stranger is told of a user that there is not is made of
it, so that it stays the same, and so are the salts under which users' answers are kept (see `salts`). A
verifier is PostgreSQL's own form of a SCRAM-SHA-256 password, from which the password cannot be told; nor can
a key be told from what is kept of it (see `keys`).
"""

from __future__ import annotations

import base64
import json
import logging
import math
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relserve.call.durations import seconds_of
from relserve.errors import OptionError, UsageError
from relserve.machine.private_files import replace_private
from relserve.server.users.keys import KeptKey, digest_of

logger = logging.getLogger(__name__)

MODE = 0o600
SECRET_BYTES = 32
VERIFIER = re.compile(r"SCRAM-SHA-256\$[0-9]+:[A-Za-z0-9+/=]+\$[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+")
MAX_NAME_BYTES = 63  # of PostgreSQL's names, too


@dataclass(frozen=True)
class User:
    """One user.

    Attributes:
        name: by which clients log in.
        verifier: of the password; None: the user has none, and cannot log in, only ask with a key.
        is_admin: may see and stop everybody's statements, and run CHECKPOINT, ATTACH and their like.
        models: whose answers they may ask for; None: an admin any, anybody else the server's own model.
        tokens_per_hour: of prompts and replies together, in any 60 minutes; None: no limit. So are
            `tokens_per_minute`, in any 60 seconds, and `tokens_per_day`, in any 24 hours.
        deadline_s: of their calls and questions that give none, in seconds; None: the server's own.
        requests_at_once: of OpenAI clients, and calls of MCP clients; None: no limit.
        keys: of OpenAI and MCP clients, as `keys.KeptKey` writes them.
        slo: the class of their calls that give none, by name; None: the server's own.
        is_read_only: may change nothing, whatever was granted.
        connections_at_once: of clients of SQL; None: no limit of the user's own.
        rows_per_day, cost_per_day: that their statements may ask a model about, and US dollars that these may
            cost, on a day in UTC; None: no limit.
        longest_statement_s: seconds, after which a statement is ended; None: the server's limit.
    """

    name: str
    verifier: str | None = None
    is_admin: bool = False
    models: frozenset[str] | None = None
    tokens_per_hour: int | None = None
    deadline_s: float | None = None
    tokens_per_minute: int | None = None
    tokens_per_day: int | None = None
    requests_at_once: int | None = None
    keys: tuple[KeptKey, ...] = ()
    slo: str | None = None
    is_read_only: bool = False
    connections_at_once: int | None = None
    longest_statement_s: float | None = None
    rows_per_day: int | None = None
    cost_per_day: float | None = None

    @property
    def token_limits(self) -> tuple[int | None, int | None, int | None]:
        """Of a minute, an hour and a day."""
        return self.tokens_per_minute, self.tokens_per_hour, self.tokens_per_day


class Users:
    """The users of one file, read anew when the file has changed.

    Safe for several threads. A file that became unreadable while the server runs lets nobody in.

    Attributes:
        secret: the file's own; of a file that has none, one that holds until it is saved or read anew.

    Raises:
        UsageError: the file is not to be had, is open to others, or does not hold users; says where.
    """

    def __init__(self, path: Path, users: Iterable[User] = ()) -> None:
        self.path = path
        self._by_name = {user.name: user for user in users}
        self._by_digest: dict[str, User] = {}
        self.secret, self._has_secret = secrets.token_bytes(SECRET_BYTES), False
        self._seen: tuple[int, int, int] | None = None
        self._lock = threading.Lock()

    @classmethod
    def load(cls, path: Path) -> Users:
        """The users of a file that is there."""
        users = cls(path)
        users._refresh()
        return users

    def keep_secret(self) -> None:
        """Have the file keep its secret, where it has none yet and can be written."""
        with self._lock:
            self._refresh()
            if self._has_secret:
                return
            try:
                self.save()
            except OSError as error:
                logger.warning(
                    "%s holds no nonce and cannot be written (%s): kept answers serve their users until the "
                    "server ends; `relserve user change` writes one", self.path, error,
                )  # fmt: skip

    def find(self, name: str) -> User | None:
        """The user of this name, as the file says now."""
        with self._lock:
            self._refresh()
            return self._by_name.get(name)

    def find_by_key(self, secret: str) -> User | None:
        """The user whose key this is, as the file says now."""
        wanted = digest_of(secret)
        with self._lock:
            self._refresh()
            return self._by_digest.get(wanted)

    def all(self) -> list[User]:
        """All users, by name."""
        return sorted(self._by_name.values(), key=lambda user: user.name)

    def get(self, name: str) -> User:
        """The user of this name.

        Raises:
            UsageError: there is none; says who is.
        """
        if name not in self._by_name:
            there = ", ".join(user.name for user in self.all()) or "nobody"
            raise UsageError(f"no user {name!r} in {self.path}; there is: {there}")
        return self._by_name[name]

    def add(self, user: User) -> None:
        """Have a new user; `save` writes it down.

        Raises:
            UsageError: the name cannot be one, or is another's.
        """
        check_name(user.name)
        if user.name in self._by_name:
            raise UsageError(
                f"{self.path} has a user {user.name!r}: see `relserve user change` and `relserve user passwd`"
            )
        self.put(user)

    def put(self, user: User) -> None:
        """Have a user be this from now on; `save` writes it down."""
        self._by_name[user.name] = user

    def remove(self, name: str) -> None:
        """Take a user out; errors as of `get`."""
        del self._by_name[self.get(name).name]

    def save(self) -> None:
        """Write the file, readable by its owner alone; a running server sees all of it or nothing."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        nonce = base64.b64encode(self.secret).decode()
        users = [_as_json(user) for user in self.all()]
        text = json.dumps({"nonce": nonce, "users": users}, indent=1, ensure_ascii=False)
        replace_private(self.path, text + "\n")

    def _refresh(self) -> None:
        """Read the file if it is not the one that was read last."""
        try:
            facts = self.path.stat()
            seen = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
            if seen == self._seen:
                return
            _check_mode(self.path, facts.st_mode)
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"the users file {self.path} cannot be read: {error}; `relserve user add NAME` makes one"
            ) from error
        users, secret = _read(text, self.path)
        self.secret, self._has_secret = secret or self.secret, secret is not None
        self._by_name = {user.name: user for user in users}
        self._by_digest = {key.digest: user for user in self._by_name.values() for key in user.keys}
        self._seen = seen


def check_name(name: str) -> None:
    """Refuse what cannot be a user's name.

    Raises:
        UsageError: it is empty, too long, or holds a character that no client can send or no line can show.
    """
    if not name or len(name.encode()) > MAX_NAME_BYTES or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"{name!r} cannot be a user's name: 1 to {MAX_NAME_BYTES} bytes, printable, no space around it"
        )


def _check_mode(path: Path, mode: int) -> None:
    if os.name == "posix" and mode & 0o077:
        raise UsageError(
            f"the users file {path} is open to others (mode {mode & 0o777:04o}): chmod 600 {path}"
        )


def _read(text: str, path: Path) -> tuple[list[User], bytes | None]:
    """The users of a file, and its secret if it has one."""
    try:
        content = json.loads(text)
        users = [_user(entry) for entry in content["users"]]
        nonce = content.get("nonce")
        secret = None if nonce is None else base64.b64decode(nonce, validate=True)
        if secret is not None and len(secret) != SECRET_BYTES:
            raise ValueError(f"the nonce has {len(secret)} bytes, not {SECRET_BYTES}")
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"the users file {path} is not as `relserve user` writes it: {error}") from error
    names = [user.name for user in users]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"the users file {path} names {twice[0]!r} twice; remove one of the entries")
    return users, secret


def _user(entry: dict[str, Any]) -> User:
    """A user of the file.

    Raises:
        ValueError, KeyError, TypeError: the entry is wrong.
    """
    if type(entry) is not dict:
        raise TypeError(f"{entry!r} is no object")
    unknown = sorted(entry.keys() - User.__dataclass_fields__.keys())
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; a user has {', '.join(User.__dataclass_fields__)}")
    name, verifier, models = entry["name"], entry.get("verifier"), entry.get("models")
    check_name(name)
    if verifier is not None and not VERIFIER.fullmatch(verifier):
        raise ValueError(f"the verifier of {name!r} is no SCRAM-SHA-256 one: `relserve user passwd {name}`")
    for field, (is_one, told) in _FIELDS.items():
        if field in entry and not is_one(value := entry[field]):
            raise ValueError(f"{field} of {name!r} is {value!r}, not {told}")
    deadline_s = entry.get("deadline_s")
    try:
        deadline_s = None if deadline_s is None else seconds_of(f"deadline_s of {name!r}", deadline_s)
    except OptionError as error:
        raise ValueError(str(error)) from None
    own = None if models is None else frozenset(models)
    keys = tuple(KeptKey.read(each) for each in entry.get("keys") or ())
    return User(**{**entry, "models": own, "deadline_s": deadline_s, "keys": keys})


def _is_count(value: Any) -> bool:
    return value is None or (type(value) is int and value >= 0)


def _is_amount(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value < math.inf)


def _is_models(value: Any) -> bool:
    return value is None or (type(value) is list and all(type(each) is str for each in value))


_FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {  # of the file: what each may be
    **dict.fromkeys(("is_admin", "is_read_only"), (lambda value: type(value) is bool, "true or false")),
    **dict.fromkeys(
        ("tokens_per_minute", "tokens_per_hour", "tokens_per_day", "requests_at_once", "connections_at_once",
         "rows_per_day"),
        (_is_count, "a whole number from 0"),
    ),
    "models": (_is_models, "a list of names"),
    "longest_statement_s": (lambda value: _is_amount(value) and value != 0, "seconds above 0"),
    "cost_per_day": (_is_amount, "US dollars from 0"),
    "slo": (lambda value: value is None or type(value) is str, "the name of a class"),
}  # fmt: skip


def _as_json(user: User) -> dict[str, Any]:
    models = None if user.models is None else sorted(user.models)
    return {**vars(user), "models": models, "keys": [str(key) for key in user.keys]}
