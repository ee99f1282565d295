"""Whole numbers of a range as a regex, which a grammar can hold a model to."""

from __future__ import annotations


def between(lo: int, hi: int) -> str:
    """A regex for the whole numbers from `lo` to `hi`, both included, as JSON spells them."""
    parts = [f"-({_between(max(1, -hi), -lo)})"] if lo < 0 else []
    parts += ["0"] if lo <= 0 <= hi else []
    parts += [_between(max(1, lo), hi)] if hi > 0 else []
    return f"({'|'.join(parts)})"


def _between(lo: int, hi: int) -> str:
    """Likewise, of positive ones: those as long as `lo`, all longer ones, those as long as `hi`."""
    low, high = str(lo), str(hi)
    if len(low) == len(high):
        return "|".join(_same_length(low, high))
    parts = _same_length(low, "9" * len(low))
    fewest, most = len(low), len(high) - 2  # digits after the first one of those longer than `lo`
    if fewest <= most:
        parts.append(f"[1-9][0-9]{{{fewest},{most}}}" if fewest < most else f"[1-9]{_any(most)}")
    return "|".join([*parts, *_same_length("1" + "0" * (most + 1), high)])


def _same_length(low: str, high: str) -> list[str]:
    """Alternatives for the digits from `low` to `high`, which are equally many."""
    rest = len(low) - 1
    if low[0] == high[0]:
        return [low[0] + tail for tail in _same_length(low[1:], high[1:])] if rest else [low]
    first, last, parts = int(low[0]), int(high[0]), list[str]()
    if rest and low[1:] != "0" * rest:
        parts += [low[0] + tail for tail in _same_length(low[1:], "9" * rest)]
        first += 1
    ends: list[str] = []
    if rest and high[1:] != "9" * rest:
        ends = [high[0] + tail for tail in _same_length("0" * rest, high[1:])]
        last -= 1
    if first <= last:
        digit = str(first) if first == last else f"[{first}-{last}]"
        parts.append(digit + _any(rest))
    return parts + ends


def _any(count: int) -> str:
    """So many digits."""
    return "[0-9]" * count if count < 2 else f"[0-9]{{{count}}}"
