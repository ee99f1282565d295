"""Numbers and strangers' texts as a terminal may show them."""

from __future__ import annotations


def plain(text: str, longest: int) -> str:
    """A stranger's text as a terminal may have it: no control characters, not too long."""
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= longest else text[: longest - 3] + "..."


def clock_text(seconds: float) -> str:
    """Seconds as people read them: 0.4 s, 12 s, 3 min 05 s, 2 h 05 min."""
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def counted(count: int, noun: str) -> str:
    """So many things in words."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
