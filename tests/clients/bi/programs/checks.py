"""Named checks of a Python client: each on a connection of its own, a JSON line before it and one after it."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], Any]

# Runs for hours on either server, and reads nothing.
SLOW = (
    "SELECT count(*) FROM generate_series(1, 1000000) AS a(x), generate_series(1, 1000000) AS b(y) WHERE (x +"
    " y) % 7 = 3"
)


class Checks:
    """The checks of one client, in order.

    Args:
        connect: gives a check what it is called with.
        close: ends that again.
    """

    def __init__(self, connect: Callable[[], Any], close: Callable[[Any], object] = lambda con: con.close()):
        self._connect, self._close = connect, close
        self._named: dict[str, Check] = {}

    def __call__(self, check: Check) -> Check:
        """Take the function as a check under its own name."""
        return self.add(check.__name__, check)

    def add(self, name: str, check: Check) -> Check:
        """Take the function as a check under this name."""
        if name in self._named:
            raise ValueError(f"two checks are named {name}")
        self._named[name] = check
        return check

    def run(self) -> None:
        """Run all, or those after the one that BI_AFTER names."""
        names = list(self._named)
        after = os.environ.get("BI_AFTER")
        for name in names[names.index(after) + 1 if after else 0 :]:
            say({"start": name})
            say({"check": name, **self._outcome(self._named[name])})

    def _outcome(self, check: Check) -> dict[str, Any]:
        try:
            con = self._connect()
            try:
                return {"value": plain(check(con))}
            finally:
                self._close(con)
        except Exception as error:
            if os.environ.get("BI_TRACE"):
                traceback.print_exc()
            return {"error": f"{type(error).__name__}: {error}", "sqlstate": sqlstate(error)}


def say(record: Mapping[str, Any]) -> None:
    """One JSON line for the benchmark."""
    sys.stdout.write(json.dumps(record, ensure_ascii=True) + "\n")
    sys.stdout.flush()


def sqlstate(error: BaseException | None) -> str | None:
    """The five characters that a server's error carries, in whichever way this driver shows them."""
    if error is None:
        return None
    for name in ("pgcode", "sqlstate"):
        if isinstance(found := getattr(error, name, None), str):
            return found
    if error.args and isinstance(error.args[0], dict):  # pg8000
        return error.args[0].get("C")
    if len(error.args) > 1 and re.fullmatch(r"[0-9A-Z]{5}", str(error.args[0])):  # pyodbc
        return str(error.args[0])
    return sqlstate(getattr(error, "orig", None) or error.__cause__ or error.__context__)


def plain(value: Any) -> Any:
    """The value in JSON, in which values of different Python types differ."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return f"float {value!r}" if math.isfinite(value) else f"float {value}"
    if isinstance(value, decimal.Decimal):
        return f"Decimal {value}"
    if isinstance(value, (datetime.date, datetime.time)):
        return f"{type(value).__name__} {value.isoformat()}"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"bytes {bytes(value).hex()}"
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(each) for each in value)
    if _is_row(value):
        return [plain(each) for each in value]
    return f"{type(value).__name__} {value}"


def _is_row(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or type(value).__name__ in ("Record", "Row")
