"""The rights in the databases of a server's users, in a file beside theirs: users.json, users.rights.json.

    {"roles": ["analysts"], "members": {"ann": ["analysts"]}, "databases": {"shop": [{"kind": "table",
        "schema": "main", "name": "orders", "owner": "ann", "grants": {"bob": ["SELECT"]}}]}}

Where `grants` is null, nobody has granted or revoked anything. Several servers may share the file.
"""

from __future__ import annotations

import fcntl
import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

from relserve.errors import UsageError
from relserve.machine.private_files import open_private, replace_private
from relserve.server.rights.policy import PUBLIC, Change, Rights, RightsEntry, RoleMade, Thing, changed

Databases = dict[str, dict[Thing, RightsEntry]]


def rights_path(users: Path) -> Path:
    """The file of rights beside a file of users."""
    return users.with_suffix(".rights.json")


class RightsStore:
    """What that file holds, read anew when it has changed; for several threads.

    Args:
        is_strict: see `Rights`.

    Raises:
        UsageError: the file cannot be read, or does not hold rights.
    """

    def __init__(self, path: Path, is_strict: bool = False) -> None:
        self._path, self._is_strict = path, is_strict
        self._seen: object = None
        self._shared, self._databases = Rights(), Databases()
        self._lock = threading.Lock()
        self._coming: list[tuple[str, Sequence[Change]]] = []  # by database
        self.rights("")

    def rights(self, database: str) -> Rights:
        """What holds now in a database."""
        with self._lock:
            seen = _stamp(self._path)
            if seen != self._seen:
                self._shared, self._databases = _load(self._path)
                self._seen = seen
            return self._of(self._shared, self._databases, database)

    def change(self, database: str, changes: Sequence[Change]) -> None:
        """Have changes hold from now on, all of them or none.

        Raises:
            OSError: the file cannot be written.
        """
        if not changes:
            return
        with self._lock, _locked(self._path):
            shared, databases = _load(self._path)
            now = reduce(changed, changes, self._of(shared, databases, database))
            databases[database] = dict(now.entries)
            _save(self._path, now, databases)

    @contextmanager
    def announcing(self, database: str, changes: Sequence[Change]) -> Iterator[None]:
        """Within, changes may hold in the database that `rights` does not tell yet."""
        announced = database, changes
        with self._lock:
            self._coming.append(announced)
        try:
            yield
        finally:
            with self._lock:
                self._coming = [each for each in self._coming if each is not announced]

    def coming(self, database: str) -> list[Sequence[Change]]:
        """Changes that are announced, of each client."""
        with self._lock:
            return [changes for of, changes in self._coming if of == database and changes]

    def _of(self, shared: Rights, databases: Databases, database: str) -> Rights:
        return replace(shared, entries=databases.get(database, {}), is_strict=self._is_strict)


def forget_user(path: Path, name: str) -> None:
    """Take what a user has from them, in all databases: another one of that name gets nothing of it."""
    if not path.exists():
        return
    with _locked(path):
        shared, databases = _load(path)
        gone = RoleMade(name, is_gone=True)
        left = {each: dict(changed(Rights(of), gone).entries) for each, of in databases.items()}
        _save(path, changed(shared, gone), left)


def check_free(users: Path, name: str) -> None:
    """Refuse to make a user of a name that is a role's, whose rights they would get.

    Raises:
        UsageError: it is one.
    """
    roles = _load(rights_path(users))[0].roles
    if name in roles or name == PUBLIC or name.startswith("pg_"):
        raise UsageError(f"{name!r} is the name of a role, or kept for PostgreSQL's: take another")


def _stamp(path: Path) -> object:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return ()
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Nobody else writes the file."""
    with open_private(path.with_suffix(".lock")) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _load(path: Path) -> tuple[Rights, Databases]:
    """The roles of all databases, and what is known of the things of each."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        databases = {str(name): dict(map(_entry, entries)) for name, entries in content["databases"].items()}
        members = {str(name): frozenset(map(str, of)) for name, of in content["members"].items()}
        return Rights(roles=frozenset(map(str, content["roles"])), members=members), databases
    except FileNotFoundError:
        return Rights(), {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"the file of rights {path} is not as GRANT writes it: {error!r}") from error


def _entry(told: dict[str, Any]) -> tuple[Thing, RightsEntry]:
    owner, grants = told["owner"], told["grants"]
    given = (
        None if grants is None else {str(role): frozenset(map(str, each)) for role, each in grants.items()}
    )
    return Thing(str(told["kind"]), str(told["schema"]), str(told["name"])), RightsEntry(owner, given)


def _save(path: Path, rights: Rights, databases: Databases) -> None:
    things = {name: [*_told(entries.items())] for name, entries in sorted(databases.items()) if entries}
    members = {name: sorted(of) for name, of in sorted(rights.members.items()) if of}
    content = {"roles": sorted(rights.roles), "members": members, "databases": things}
    replace_private(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _told(entries: Iterable[tuple[Thing, RightsEntry]]) -> Iterator[dict[str, Any]]:
    for thing, (owner, grants) in sorted(entries, key=lambda each: each[0]):
        given = None if grants is None else {role: sorted(some) for role, some in sorted(grants.items())}
        yield {**thing._asdict(), "owner": owner, "grants": given}
