"""Prices of hosted models, from the data in the package genai-prices, which others keep. Asks no server."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

from relserve.prices.price import Rates, TokenPrice

# What else may stand in a price and is not charged for texts that are read and written.
_OTHER_USES = ("cache_write_", "web_searches_", "storage_searches_")
_OTHER_MEDIA = ("audio", "image", "video")
BATCHES = {"processing": "batch"}  # how the package calls what is sent as batches
_PLAIN = ("input_mtok", "cache_read_mtok", "output_mtok")


@lru_cache(maxsize=256)
def find_hosted(url: str, model: str, in_batches: bool = False) -> TokenPrice | None:
    """The price now of a model at a host; None where the package, or its price for texts, is not there.

    Args:
        url: of the server, without a user.
        model: its name there.
        in_batches: the price of rows that are sent as batches; None where the package tells none.
    """
    try:
        from genai_prices.data_snapshot import get_snapshot  # takes a tenth of a second
    except ImportError:
        return None
    for provider in get_snapshot().providers:
        if re.match(rf"(?:{provider.api_pattern})(?=[/:?#]|$)", url):
            found = provider.find_model(model)  # of this host alone: another one's price would be a guess
            return None if found is None else _price_now(found, BATCHES if in_batches else {})
    return None


def is_installed() -> bool:
    """Whether prices of hosted models can be known."""
    from importlib.util import find_spec

    return find_spec("genai_prices") is not None


def _price_now(found: Any, context: dict[str, str]) -> TokenPrice | None:
    """A model's price for texts, asked in a way that has a price of its own; None where it has none."""
    now = datetime.now(timezone.utc)
    if not context:
        return _of_texts(found.get_prices(now))
    variants = [each for each in getattr(found, "price_variants", None) or () if each.when == context]
    is_told = any(each.constraint is None or each.constraint.active(now) for each in variants)
    return _of_texts(found.get_prices(now, context)) if is_told else None


def _of_texts(found: Any) -> TokenPrice | None:
    """The price for texts; None where it is not by tokens alone."""
    given = {key: value for key, value in vars(found).items() if value is not None and key[0] != "_"}
    others = [key for key in given if key not in _PLAIN and not _is_of_other_uses(key)]
    if others or "input_mtok" not in given or "output_mtok" not in given:
        return None
    starts = sorted({tier.start for value in given.values() for tier in getattr(value, "tiers", ())})
    above = tuple((start, _rates(given, start + 1)) for start in starts)
    return TokenPrice(_rates(given, 0), above)


def _is_of_other_uses(key: str) -> bool:
    return key.startswith(_OTHER_USES) or any(word in key for word in _OTHER_MEDIA)


def _rates(given: dict[str, Any], prompt_tokens: int) -> Rates:
    """The rates of a request whose prompt has so many tokens."""
    read = _at(given["input_mtok"], prompt_tokens)
    cached = _at(given["cache_read_mtok"], prompt_tokens) if "cache_read_mtok" in given else read
    return Rates(read, cached, _at(given["output_mtok"], prompt_tokens))


def _at(price: Any, prompt_tokens: int) -> float:
    rate = getattr(price, "base", price)
    for tier in getattr(price, "tiers", ()):
        rate = tier.price if prompt_tokens > tier.start else rate
    return float(rate)
