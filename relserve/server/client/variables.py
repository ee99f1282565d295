"""What SET and SHOW know of one client: PostgreSQL's settings, as far as clients ask for them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from relserve.errors import ProtocolError

SERVER_VERSION = "15.0"
REPORTED = (
    "server_version", "server_encoding", "client_encoding", "application_name", "is_superuser",
    "session_authorization", "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes",
    "standard_conforming_strings", "default_transaction_read_only", "in_hot_standby",
)  # fmt: skip
FIXED = {
    "server_version": SERVER_VERSION, "server_version_num": "150000", "server_encoding": "UTF8",
    "integer_datetimes": "on", "standard_conforming_strings": "on", "in_hot_standby": "off",
    "max_identifier_length": "63", "max_index_keys": "32", "block_size": "8192", "lc_collate": "C",
    "lc_ctype": "C", "transaction_isolation": "repeatable read", "wal_level": "replica",
    "default_table_access_method": "heap", "ssl": "on", "data_checksums": "off",
    "is_superuser": "off", "session_authorization": "", "default_tablespace": "", "max_connections": "100",
    "max_prepared_transactions": "0",
}  # fmt: skip
DEFAULTS = {
    "client_encoding": "UTF8", "application_name": "", "DateStyle": "ISO, MDY", "IntervalStyle": "postgres",
    "TimeZone": "UTC", "search_path": "main", "extra_float_digits": "1", "bytea_output": "hex",
    "client_min_messages": "notice", "statement_timeout": "0", "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0", "idle_session_timeout": "0",
    "default_transaction_isolation": "repeatable read", "default_transaction_read_only": "off",
    "transaction_read_only": "off", "default_transaction_deferrable": "off", "synchronous_commit": "on",
    "row_security": "on", "check_function_bodies": "on", "escape_string_warning": "on", "jit": "off",
    "geqo": "on", "lc_messages": "C", "lc_monetary": "C", "lc_numeric": "C", "lc_time": "C",
    "xmloption": "content", "enable_seqscan": "on", "work_mem": "4MB", "backslash_quote": "safe_encoding",
    "array_nulls": "on", "plan_cache_mode": "auto", "timezone_abbreviations": "Default",
    "quote_all_identifiers": "off",
    "force_parallel_mode": "off", "max_parallel_workers_per_gather": "2", "cursor_tuple_fraction": "0.1",
    "log_statement": "none", "log_min_messages": "warning", "debug_print_plan": "off",
    "tcp_keepalives_idle": "7200",
}  # fmt: skip
_NAMES = {name.lower(): name for name in (*FIXED, *DEFAULTS)}
_UNITS_MS = {"": 1, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
MAX_NAME = 63
MOST_CHARS = 1 << 20  # of all values of a client
_TIMES = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout")
_SWITCHES = ("default_transaction_read_only", "transaction_read_only")
IN_DUCKDB = ("TimeZone", "search_path")  # DuckDB has them, too
LEVELS = ("debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error")
_LONGEST_MS = int(threading.TIMEOUT_MAX) * 1000
_ONLY = {
    "client_encoding": (r"(?i)'?utf-?8'?|sql_ascii|unicode|auto", "UTF8"),
    "DateStyle": (r"(?i)iso\b.*", "ISO, MDY"),
    "IntervalStyle": (r"(?i)postgres", "postgres"),
    "bytea_output": (r"(?i)hex", "hex"),
}


@dataclass
class SessionVariables:
    """The settings of one client; transactions undo them.

    Attributes:
        changed: called with name and value of a setting that the client is told about.
        defaults: of this client, such as its user, and what it asked for as it came.
        apply: puts one of `IN_DUCKDB` into effect and gives the value that it has now; may raise
            ProtocolError.
    """

    changed: Callable[[str, str], None]
    defaults: Mapping[str, str] = field(default_factory=dict)
    apply: Callable[[str, str], str] = lambda _, value: value
    _set: dict[str, str] = field(default_factory=dict)
    _before: dict[str, str] | None = None  # the transaction
    _local: dict[str, str | None] = field(default_factory=dict)  # what LOCAL ones were

    def find(self, name: str) -> str | None:
        """The value that SHOW gives; None: there is no such setting."""
        name = _NAMES.get(name.lower(), name.lower())
        if name == "transaction_read_only" and self._before is None:
            name = "default_transaction_read_only"  # of a transaction that would begin now
        return self._set[name] if name in self._set else self._default(name)

    def is_on(self, name: str) -> bool:
        """Whether a switch is on."""
        return self.find(name) == "on"

    def all(self) -> list[tuple[str, str]]:
        """Every setting with its value, by name."""
        names = {*FIXED, *DEFAULTS, *self._set}
        return sorted(((name, self.find(name) or "") for name in names), key=lambda each: each[0].lower())

    def knows(self, name: str) -> bool:
        """Whether it is a setting of PostgreSQL's, or one with a dot, which may have any name."""
        return name.lower() in _NAMES or "." in name

    def set(self, name: str, value: str | None, is_local: bool = False) -> None:
        """SET; None: the default.

        Raises:
            ProtocolError: it cannot be changed, or not to this value.
        """
        name = _NAMES.get(name.lower(), name.lower())
        if name in FIXED:
            raise ProtocolError(f'parameter "{name}" cannot be changed', "55P02")
        value = None if value is None else _checked(name, value)
        others = sum(len(each) for key, each in self._set.items() if key != name)
        if value is not None and others + len(value) > MOST_CHARS:
            raise ProtocolError(f"settings of a connection have at most {MOST_CHARS:,} characters", "53400")
        if is_local:
            if self._before is None:
                return  # as in PostgreSQL: it has no effect outside of a transaction
            self._local.setdefault(name, self._set.get(name))
        else:
            self._local.pop(name, None)
        self._put(name, value)

    def reset(self) -> None:
        """RESET ALL."""
        for name in {*self._set, *IN_DUCKDB} - {"transaction_read_only"}:
            self.set(name, None)

    def keep(self) -> None:
        """What is set so far is what RESET goes back to."""
        self.defaults, self._set = {**self.defaults, **self._set}, {}

    def begin(self, is_read_only: bool) -> None:
        """A transaction begins."""
        self._before, self._local = dict(self._set), {}
        self.reads_only(is_read_only)

    def reads_only(self, is_read_only: bool) -> None:
        """Whether the transaction does."""
        self._local["transaction_read_only"] = None
        self._set["transaction_read_only"] = "on" if is_read_only else "off"

    def end(self, commits: bool) -> None:
        """The transaction ends: what was LOCAL is as it was, and where it is undone, all is."""
        before = self._before or {}
        former = self._local if commits else {name: before.get(name) for name in {*self._set, *before}}
        self._before, self._local = None, {}
        for name, value in former.items():
            if self._set.get(name) != value:
                self._put(name, value)

    def milliseconds(self, name: str) -> int:
        """A time; 0: without end, or as good as that."""
        return min(_milliseconds(name, self.find(name) or "0"), _LONGEST_MS)

    def _default(self, name: str) -> str | None:
        for values in (self.defaults, DEFAULTS, FIXED):
            if name in values:
                return values[name]
        return None

    def _put(self, name: str, value: str | None) -> None:
        former = self.find(name)
        now = self._default(name) if value is None else value
        if name in IN_DUCKDB and now is not None:
            now = self.apply(name, now)
        if value is None or now is None:
            self._set.pop(name, None)
        else:
            self._set[name] = now
        if name in REPORTED and now != former and now is not None:
            self.changed(name, now)


def spelled(name: str) -> str:
    """The name of a setting as PostgreSQL writes it: DateStyle, and everything else in small letters."""
    return next((each for each in REPORTED if each.lower() == name.lower()), name)


def _checked(name: str, value: str) -> str:
    if name in _ONLY:
        allowed, written = _ONLY[name]
        if not re.fullmatch(allowed, value.strip("'\" ")):
            raise ProtocolError(
                f'invalid value for parameter "{name}": "{value}"; here it is {written}', "22023"
            )
        return written
    if name in _TIMES:
        _milliseconds(name, value)
    if name == "application_name":  # PostgreSQL cuts it too, and shows what is not ASCII so
        return "".join(each if " " <= each <= "~" else "?" for each in value)[:MAX_NAME]
    if name in _SWITCHES:
        return "on" if switched(name, value) else "off"
    return _level(value) if name == "client_min_messages" else value


def switched(name: str, value: str) -> bool:
    """Whether a switch is on, from any of PostgreSQL's words for it.

    Raises:
        ProtocolError: it is none of them.
    """
    word = value.strip("'\" ").lower()
    if word in ("on", "1") or (word and ("true".startswith(word) or "yes".startswith(word))):
        return True
    if word in ("off", "of", "0") or (word and ("false".startswith(word) or "no".startswith(word))):
        return False
    raise ProtocolError(f'parameter "{name}" requires a Boolean value, such as on or off', "22023")


def _level(value: str) -> str:
    word = value.strip("'\" ").lower()
    word = {"debug": "debug2", "info": "notice"}.get(word, word)
    if word not in LEVELS:
        raise ProtocolError(
            f'invalid value for parameter "client_min_messages": "{value}"; it is one of {", ".join(LEVELS)}',
            "22023",
        )
    return word


def _milliseconds(name: str, value: str) -> int:
    found = re.fullmatch(r"\s*+'?+(\d++(?:\.\d++)?+)\s*+(ms|s|min|h|d|)'?+\s*+", value)
    if found is None:
        raise ProtocolError(
            f'invalid value for parameter "{name}": "{value}"; write it as 5000 or 5s', "22023"
        )
    return round(float(found[1]) * _UNITS_MS[found[2]])
