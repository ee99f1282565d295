"""The calendar of both sides: years from 1 and BC, times of day, offsets from UTC, as words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SECOND, DAY = 1_000_000, 86_400_000_000  # microseconds
EPOCH_DAYS = 10_957  # of 2000-01-01, PostgreSQL's day 0, since 1970
EPOCH_MICROSECONDS = EPOCH_DAYS * DAY


class Moment(NamedTuple):
    """A day of the proleptic Gregorian calendar, year 0 being 1 BC, and a time of that day, or none."""

    year: int
    month: int
    day: int
    time: str = ""

    def written(self, era: str, *, era_comes_last: bool, zone: str = "") -> str:
        """The date, the time and the zone; `era` stands in it for years before 1."""
        year, shown_era = (self.year, "") if self.year > 0 else (1 - self.year, f" {era}")
        date = f"{year:04d}-{self.month:02d}-{self.day:02d}"
        time = f" {self.time}{zone}" if self.time else ""
        return f"{date}{time}{shown_era}" if era_comes_last else f"{date}{shown_era}{time}"

    def as_postgres(self, zone: str = "") -> str:
        """Such as 0044-03-15 12:00:00+01 BC."""
        return self.written("BC", era_comes_last=True, zone=zone)

    def as_duckdb(self, zone: str = "") -> str:
        """Such as 0044-03-15 (BC) 12:00:00+01."""
        return self.written("(BC)", era_comes_last=False, zone=zone)


def moment_of_day(day: int) -> Moment:
    """The date so many days after 1970-01-01."""
    month = np.datetime64(day, "D").astype("datetime64[M]")
    months = int(month.astype(np.int64))
    first = int(month.astype("datetime64[D]").astype(np.int64))
    return Moment(1970 + months // 12, months % 12 + 1, day - first + 1)


def moment_of_instant(micros: int) -> Moment:
    """The date and time so many microseconds after 1970-01-01."""
    day, of_day = divmod(micros, DAY)
    return moment_of_day(day)._replace(time=time_of_day(of_day))


def time_of_day(micros: int) -> str:
    """Such as 12:00:00.5; hours go on after 24, for intervals."""
    seconds, fraction = divmod(micros, SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{hour:02d}:{minute:02d}:{second:02d}{tail}"


def offset_text(seconds: int) -> str:
    """An offset from UTC, such as +02, -05:30 and +00:53:28."""
    minutes, second = divmod(abs(seconds), 60)
    hours, minute = divmod(minutes, 60)
    tail = f":{minute:02d}:{second:02d}" if second else f":{minute:02d}" if minute else ""
    return f"{'-' if seconds < 0 else '+'}{hours:02d}{tail}"
