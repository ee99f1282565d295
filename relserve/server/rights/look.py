"""Refuses to read and change what a user has no right for; a look goes on into views and macros.

A view reads with its owner's rights, a macro with those of who calls it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from duckdb import StatementType as Type

from relserve.errors import ForbiddenError
from relserve.server.rights.definitions import target_of
from relserve.server.rights.found import Finder, FoundObject
from relserve.server.rights.needs import BY_TEXT, COUNTS, StatementNeeds, needs_of
from relserve.server.rights.policy import ADMIN, MAIN, Rights, Who
from relserve.server.users.definitions import query_place
from relserve.server.users.long_texts import LONG, Odd, statements_of_long
from relserve.server.users.words import words
from relserve.text2sql.guard.names import folded

WRITES = (Type.INSERT, Type.UPDATE, Type.DELETE)
_ASKS = frozenset(["text2sql", "text2sql_query"])  # the SQL of their answers is not known yet
_VERBS = ("INSERT", "UPDATE", "DELETE")
_ACTIONS = {"copy": ("INSERT",), "truncate": ("TRUNCATE",)}
_TARGETED = frozenset(["insert", "update", "delete", "merge", *_ACTIONS])  # before the table that they change
_CHANGES_TOO = re.compile(r"(?i)\bon\s++conflict\b|\bor\s++replace\b")
_READS_OWN = re.compile(r"(?i)\b(?:returning|where)\b")


class RightsLook:
    """One look at a text.

    Args:
        who: asks.
        known: who a role is, by its name.

    Attributes:
        is_free: whether there is nothing that the user may not do.
    """

    def __init__(self, found: Finder, rights: Rights, who: Who, known: Callable[[str], Who]) -> None:
        self._found, self._rights, self._who, self._known = found, rights, who, known
        self.is_free = not rights.concern(who)
        self._done: set[tuple[Who, str, str, str]] = set()  # views and macros whose bodies are judged

    def sought(self, text: str, first: str, kind: Type) -> StatementNeeds:
        """What a text may need of which DuckDB's parser tells nothing: all tables whose names are in it.

        Args:
            first: its first word.
        """
        needs = StatementNeeds()
        own: list[FoundObject] = []
        if first in _TARGETED or kind in WRITES:
            path = target_of(text)
            own = self._found.called("table", path)
            actions = [*_ACTIONS.get(first, [kind.name if kind in WRITES else first.upper()])]
            if first == "merge":
                actions = _verbs(text)
            else:
                outside = _outside_strings(text)
                actions += ["UPDATE"] if _CHANGES_TOO.search(outside) else []
                actions += ["SELECT"] if _READS_OWN.search(outside) else []
            needs.tables += [(action, path) for action in actions]
            needs.is_hidden = not path
        elif first in ("with", "(") or len(text) > LONG:  # it may change any of them, in a WITH or behind it
            needs.also = _verbs(text)
        text = folded(text)
        for each in self._found.all("table"):
            count = _count(each.name, text)
            if count > (1 if each in own and first != "merge" else 0):
                needs.loose.add(each.name)
        needs.calls |= {each.name for each in self._found.all("macro") if _count(each.name, text)}
        needs.is_hidden |= any(_count(name, text) for name in (*BY_TEXT, "storage_info"))
        needs.calls |= {name for name in (*_ASKS, COUNTS) if _count(name, text)}
        return needs

    def check(self, needs: StatementNeeds, reader: Who, view: FoundObject | None = None) -> None:
        """Refuse what the reader lacks a right for.

        Args:
            view: in which the names stand.

        Raises:
            ForbiddenError: in PostgreSQL's words.
        """
        within = view.schema if view is not None else None
        for privilege, path in needs.tables:
            for each in self._found.called("table", path, within):
                self._need(privilege, each, reader, None if len(path) > 1 else view)
        for each in self._found.all("table") if needs.loose else ():
            if each.name in needs.loose:
                for privilege in ("SELECT", *(() if each.is_view else needs.also)):
                    self._need(privilege, each, reader, view)
        self._check_calls(needs, reader)

    def _need(self, privilege: str, found: FoundObject, reader: Who, view: FoundObject | None) -> None:
        if found.is_temporary and not found.is_view:
            return
        if not found.is_temporary:
            # what a view's bare name means elsewhere, the search path of who asks decides
            own = view is None or (found.database, found.schema) in (view[:2], (view.database, MAIN))
            for who in [reader] if own else dict.fromkeys([reader, self._who]):
                self._require(who, privilege, found)
        if found.is_view:
            self._check_view(found, reader)

    def _require(self, who: Who, privilege: str, found: FoundObject) -> None:
        if not self._rights.may(who, "USAGE", self._found.schema_of(found)):
            raise ForbiddenError(f"permission denied for schema {found.schema}")
        if not self._rights.may(who, privilege, self._found.thing("table", found)):
            raise ForbiddenError(f"permission denied for {kind_of(found)} {found.name}")

    def _check_view(self, view: FoundObject, asks: Who) -> None:
        name = self._rights.runs_as(self._found.thing("table", view), asks.name)
        reader = ADMIN if name is None else asks if name == asks.name else self._known(name)
        if view.is_temporary:
            reader = self._who
        key = reader, view.database, view.schema, view.name
        if key in self._done:
            return
        self._done.add(key)
        sql = (view.sql or "").rstrip("; \n")
        here = words(sql)
        place = query_place(here)
        body = sql.encode()[here[place].start :].decode() if place is not None else sql
        needs = needs_of(body)
        self.check(needs if needs is not None else self.sought(body, "", Type.SELECT), reader, view)

    def check_asks(self, text: str) -> None:
        """Refuse a definition whose question is asked as it is made, of tables that the user may not read."""
        if not self.is_free and any(word.name in _ASKS for word in words(text)):
            self._check_calls(StatementNeeds(calls=set(_ASKS)), self._who)

    def _check_calls(self, needs: StatementNeeds, reader: Who) -> None:
        if needs.is_hidden or needs.calls & _ASKS:
            if self._may_read_all(self._who):
                return
            what = "text2sql" if needs.calls & _ASKS else "query_table"
            raise ForbiddenError(
                f"permission denied for function {what}: it reads tables that are only known when it runs, "
                "and you may not read all of this database"
            )
        if COUNTS in needs.calls and not self._may_read_all(reader):
            raise ForbiddenError(
                f"permission denied for function {COUNTS}: it tells how many rows each table has, and you may"
                " not read all of them; ask information_schema.tables or pg_tables"
            )
        called = {name for name in needs.calls if (self._who, "", "", name) not in self._done}
        self._done |= {(self._who, "", "", name) for name in called}
        for macro in self._found.all("macro") if called else ():
            if macro.name in called:
                self._check_macro(macro.sql or "")

    def _check_macro(self, body: str) -> None:
        told = needs_of(body, in_macro=True) or needs_of(f"SELECT ({body}\n)", in_macro=True)
        self.check(told if told is not None else self.sought(body, "", Type.SELECT), self._who)

    def _may_read_all(self, who: Who) -> bool:
        things = [
            self._found.thing("table", each) for each in self._found.all("table") if not each.is_temporary
        ]
        return all(self._rights.may(who, "SELECT", thing) for thing in things)

    def check_query(self, text: str) -> None:
        """Refuse a CREATE .. AS whose query reads what the user may not."""
        here = words(text)
        place = query_place(here)
        if place is not None and place < len(here):
            body = text.encode()[here[place].start :].decode().rstrip("; \t\r\n\f\v")
            needs = needs_of(body) or needs_of(f"SELECT * FROM (\n{body}\n)")
            self.check(needs or self.sought(body, here[place].plain, Type.SELECT), self._who)


def kind_of(found: FoundObject) -> str:
    """What PostgreSQL calls it."""
    return "view" if found.is_view else "table"


def _count(name: str, text: str) -> int:
    """How often a name may stand in a text, between quotes, too."""
    ways = {name, name.replace('"', '""'), name.replace("'", "''")}
    return max(len(re.findall(rf"(?<!\w){re.escape(way)}(?!\w)", text)) for way in ways)


def _verbs(text: str) -> list[str]:
    """How a text may change tables."""
    return [each for each in _VERBS if re.search(rf"(?i)\b{each}\b", text)]


def _outside_strings(text: str) -> str:
    """A text without its strings, which may be data, and comments; whole where only DuckDB can tell them."""
    try:
        return ";".join(statements_of_long(text))
    except Odd:
        return text
