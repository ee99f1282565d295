"""Which texts may call an llm function: by name, or through a view, macro or prepared statement over one."""

from __future__ import annotations

import re

import duckdb

_VIEWS = "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal"
_MACROS = (
    "SELECT function_name, macro_definition FROM duckdb_functions() "
    "WHERE macro_definition IS NOT NULL AND NOT internal AND NOT starts_with(function_name, 'llm')"
)
_LEAD = r"(?is)\A(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_PREPARE = re.compile(_LEAD + r"prepare\s+(\w+)\b(.*)")
_CHANGES = re.compile(
    _LEAD + r"(create\s+(or\s+replace\s+)?(temp(orary)?\s+)?(view|macro|function)|prepare|attach)\b"
)


class Lookout:
    """Knows the names behind which a connection's llm calls may hide.

    Views and macros made on another connection after this one was attached stay unknown until the next
    CREATE or ATTACH here: their calls are answered all the same, but without prefetch.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._texts: dict[str, str] = {}
        self._learn(con, _VIEWS)

    def mentions(self, text: str) -> bool:
        """Whether the text may make an llm call."""
        lower = text.lower()
        return "llm" in lower or any(name in lower for name in self._texts)

    def hidden(self, text: str) -> str:
        """The definitions of the views and macros that the text mentions, "" for none."""
        lower = text.lower()
        return "\n".join(sql for name, sql in self._texts.items() if name in lower)

    def is_changed_by(self, text: str) -> bool:
        """Whether running the text may have made such a name."""
        return _CHANGES.match(text) is not None

    def learn(self, con: duckdb.DuckDBPyConnection, text: str) -> None:
        """Learn what a text that has just run made."""
        if match := _PREPARE.match(text):
            self._texts[match[1].lower()] = match[2]
        self._learn(con, f"{_VIEWS} UNION ALL {_MACROS}")

    def _learn(self, con: duckdb.DuckDBPyConnection, query: str) -> None:
        try:
            found = [(name.lower(), sql or "") for name, sql in con.execute(query).fetchall()]
        except duckdb.Error:
            return  # inside an aborted transaction nothing can be asked
        num_known = -1
        while num_known != len(self._texts):  # views over views
            num_known = len(self._texts)
            self._texts.update((name, sql) for name, sql in found if self.mentions(sql))
