"""Dates and times that clients send, in DuckDB's words for them."""

from __future__ import annotations

import re
from collections.abc import Callable

from relserve.errors import ProtocolError
from relserve.server.wire import types
from relserve.server.wire.body import MessageBody
from relserve.server.wire.moments import (
    DAY,
    EPOCH_DAYS,
    EPOCH_MICROSECONDS,
    moment_of_day,
    moment_of_instant,
    offset_text,
    time_of_day,
)  # fmt: skip

_INFINITE = {2**31 - 1: "infinity", -(2**31): "-infinity", 2**63 - 1: "infinity", -(2**63): "-infinity"}
_ERA = re.compile(r"(?<!\s)\s++(BC|AD)$", re.IGNORECASE)
_ZONE = re.compile(r"(?<!\s)\s*+([+-]\d\d?(:?\d\d){0,2}|Z)$", re.IGNORECASE)
_NUMBER = r"[+-]?+[\d.]++"
_ISO_INTERVAL = re.compile(
    rf"P(?:(?P<year>{_NUMBER})Y)?(?:(?P<month>{_NUMBER})M)?(?:(?P<week>{_NUMBER})W)?(?:(?P<day>{_NUMBER})D)?"
    rf"(?:T(?:(?P<hour>{_NUMBER})H)?(?:(?P<minute>{_NUMBER})M)?(?:(?P<second>{_NUMBER})S)?)?"
)


def _date_words(text: str) -> str:
    """The date alone: drivers send a zone with it, and PostgreSQL does not look at it."""
    return _instant_words(text).partition("T")[0].split(" ")[0] + _era_of(text)


def _era_of(text: str) -> str:
    era = _ERA.search(text.strip())
    return " (BC)" if era and era[1].upper() == "BC" else ""


def _instant_words(text: str) -> str:
    """With (BC), if it is there, between the date and the time, where DuckDB wants it."""
    era, words = _era_of(text), _ERA.sub("", text.strip())
    if not era:
        return words
    date, _, time = words.replace("T", " ").partition(" ")
    return f"{date}{era} {time}".rstrip()


def _timestamp_words(text: str) -> str:
    """Without a zone, which PostgreSQL does not look at in a timestamp without one."""
    words = _instant_words(text)
    return _ZONE.sub("", words) if ":" in words else words


def _interval_words(text: str) -> str:
    """In DuckDB's words, which know neither the form of ISO 8601 nor a plus."""
    words = text.strip()
    if iso := _ISO_INTERVAL.fullmatch(words):
        words = " ".join(f"{value} {unit}" for unit, value in iso.groupdict().items() if value is not None)
    return words.replace("+", "")


def _read_date(body: MessageBody) -> str:
    days = body.int32()
    return _INFINITE.get(days) or moment_of_day(days + EPOCH_DAYS).as_duckdb()


def _read_timestamp(body: MessageBody, zone: str = "") -> str:
    micros = body.int64()
    return _INFINITE.get(micros) or moment_of_instant(micros + EPOCH_MICROSECONDS).as_duckdb(zone)


def _read_time(body: MessageBody) -> str:
    micros = body.int64()
    if not 0 <= micros <= DAY:
        raise ProtocolError("time out of range: a day has 24 hours", "22008")
    return time_of_day(micros)


def _read_timetz(body: MessageBody) -> str:
    return _read_time(body) + offset_text(-body.int32())


def _read_interval(body: MessageBody) -> str:
    micros, days, months = body.int64(), body.int32(), body.int32()
    return f"{months} months {days} days {micros} microseconds"


TEXT_WORDS: dict[int, Callable[[str], str]] = {
    types.DATE: _date_words,
    types.TIME: lambda text: _ZONE.sub("", text.strip()),
    types.TIMETZ: str.strip,
    types.TIMESTAMP: _timestamp_words,
    types.TIMESTAMPTZ: _instant_words,
    types.INTERVAL: _interval_words,
}
BINARY_WORDS: dict[int, Callable[[MessageBody], str]] = {
    types.DATE: _read_date,
    types.TIME: _read_time,
    types.TIMETZ: _read_timetz,
    types.TIMESTAMP: _read_timestamp,
    types.TIMESTAMPTZ: lambda body: _read_timestamp(body, "+00"),
    types.INTERVAL: _read_interval,
}
