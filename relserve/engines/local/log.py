"""Why an engine died or did not start, in one line, from its log or from vLLM's exception."""

from __future__ import annotations

import re
from pathlib import Path

from relserve.errors import EngineError

# The last line of a traceback, behind what vLLM puts before every line:
# "(EngineCore pid=7) ERROR 11-21 01:40:00 [core.py:9] ValueError: no memory"
_ERROR_LINE = re.compile(
    r"^(?:\(EngineCore[^)]*\) )?(?:ERROR [^\]]*\] )?([A-Za-z_.]*(?:Error|Exception): .+)$", re.MULTILINE
)
_SOURCE = re.compile(r"\[[\d:]+\] \S+: ")  # time and line of C++ before xgrammar's messages
NO_TOKEN = "the grammar allows nothing that the model's vocabulary can spell"
TOO_SLOW = (
    "the grammar takes too long a token: write it with fewer readings, a+ for (a+)+, and smaller counts"
)
_REJECTED = r"grammar rejected tokens \[[\d, ]*\] for request "
TAIL_BYTES = 65_536  # of a log, which may have a traceback for each row


class EngineGone(Exception):
    """The engine died, or was closed, while something was asked of it."""


def size_of(path: Path | None) -> int:
    """Bytes in a log so far; 0 when there is none."""
    try:
        return path.stat().st_size if path is not None else 0
    except OSError:
        return 0


def cause_of(error: Exception, log_path: Path | None, log_start: int) -> str:
    """One line on why a start failed: the last error in the log from `log_start` on, else `error` itself."""
    if isinstance(error, EngineError):
        return str(error)
    if isinstance(error, EngineGone):
        return "it ended as soon as it was ready"
    return last_error(log_path, log_start) or one_line(error)


def one_line(error: BaseException) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _words_of(cause: BaseException | None) -> str:
    """What an exception says, without its class; "" where there is none."""
    return "" if cause is None else " ".join(str(cause).split())


def why_refused(error: Exception) -> str:
    """Why vLLM did not take a request, in one line; of a grammar, what is wrong with it and where."""
    message, cause = (_SOURCE.sub("", text) for text in (one_line(error), _words_of(error.__cause__)))
    return message if cause in message else f"{message}: {cause}"


def grammar_error(log_path: Path | None, start: int, id_prefix: str) -> str:
    """Why vLLM could not hold requests to their grammars; "" where the log does not tell.

    Args:
        start: where in the log to look from.
        id_prefix: of the ids of these requests, up to the dot before their numbers.
    """
    start = max(start, size_of(log_path) - TAIL_BYTES)
    message = _read(log_path, start)
    if f"Failed to compile grammar for request {id_prefix}." in message:
        return last_error(log_path, start)
    if f"Grammar takes too long for request {id_prefix}." in message:
        return TOO_SLOW
    return NO_TOKEN if re.search(rf"{_REJECTED}{re.escape(id_prefix)}\.", message) else ""


def last_error(log_path: Path | None, start: int) -> str:
    """The last line of a traceback in a log from `start` on, without vLLM's prefixes; "" for none."""
    errors = _ERROR_LINE.findall(_read(log_path, start))
    return str(errors[-1]) if errors else ""


def _read(path: Path | None, start: int) -> str:
    """A log's text from `start` on; "" when there is none."""
    if path is None:
        return ""
    try:
        with path.open("rb") as log:
            log.seek(start)
            return log.read().decode(errors="replace")
    except OSError:
        return ""
