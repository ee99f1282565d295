"""From a model's name to its price: your own file first, then what hosts ask, then the machine's hour.

Your own prices stand in a TOML file that RELSERVE_PRICES names.

    ["http://gpu-box:8000/v1#llama"]   # a model's name as calls write it, or a host: "gpu-box:8000"
    input = 0.10                       # dollars for a million tokens of prompts
    cached_input = 0.02                # of those that the server found in its cache (default: as input)
    output = 0.40                      # of replies

    ["fleet:gpus.toml"]
    hour = 4.20                        # dollars for an hour in which it works
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from relserve.call.hosts import BATCH, host_of, is_url, without_user
from relserve.errors import UsageError
from relserve.prices.price import HourPrice, Price, Rates, TokenPrice

SCRIPTED = "scripted"
_KEYS = ("input", "cached_input", "output", "hour")
MOST = 1e6  # dollars; more is a slip of the unit
_EXAMPLE = '["http://gpu-box:8000/v1#llama"] with input = 0.10 and output = 0.40'
# What else may stand in a price and is not charged for texts that are read and written.
_OTHER_USES = ("cache_write_", "web_searches_", "storage_searches_")
_OTHER_MEDIA = ("audio", "image", "video")
_BATCHES = {"processing": "batch"}  # how genai-prices calls what is sent as batches
_PLAIN = ("input_mtok", "cache_read_mtok", "output_mtok")


@dataclass(frozen=True)
class Prices:
    """What is known of prices.

    Attributes:
        own: by a model's name, a host, or HOST#MODEL.
        hour: dollars for an hour of this machine, on which local models run; None: unknown.
    """

    own: Mapping[str, Price] = field(default_factory=dict)
    hour: float | None = None

    @classmethod
    def of(cls, path: Path | None, hour: float | None) -> Prices:
        """With a file's; raises UsageError where it is wrong."""
        return cls({} if path is None else _read_prices(path), hour)

    def find(self, model: str) -> Price | None:
        """The price of a model by the name that calls give it; None: it is unknown."""
        model = without_user(model)
        for name in _names(model):
            if name in self.own:
                return self.own[name]
        if is_url(model):
            url, _, served = model.removeprefix(BATCH).partition("#")
            return find_hosted(url, served, model.startswith(BATCH)) if served else None
        return None if self.hour is None or model == SCRIPTED else HourPrice(self.hour)

    def how_to_give(self, model: str) -> str:
        """How the price of a model that has none can be given."""
        model = without_user(model)
        own = f'name a file by RELSERVE_PRICES with ["{model}"] and input = .., output = .. in it'
        if is_url(model) and "#" not in model:
            return f"write the model's name behind the URL, as in {model}#NAME, or {own}"
        if is_url(model) and not _is_installed():
            return f"pip install 'relserve[prices]' for the prices of hosted models, or {own}"
        if is_url(model) or model == SCRIPTED:
            return own
        return f"set RELSERVE_HOUR_PRICE, dollars for an hour of the machine, or {own}"


def _names(model: str) -> list[str]:
    """The names under which a file may have the price, the closest first."""
    if not is_url(model):
        return [model]
    url, _, served = model.partition("#")
    host = host_of(url)
    named = [model, f"{host}#{served}"] if served else [model]
    before = BATCH if model.startswith(BATCH) else ""  # whose price is not that of rows asked at once
    return [model, *(before + name for name in named[1:]), url, before + host]


def _read_prices(path: Path) -> dict[str, Price]:
    """The price of each model or host that a file names.

    Raises:
        UsageError: it cannot be read, or a price is wrong; says what, where and how to mend it.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"RELSERVE_PRICES: {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"RELSERVE_PRICES: {path} is not UTF-8 at byte {error.start}; save it so") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"RELSERVE_PRICES: {path} is no TOML: {error}; a price is {_EXAMPLE}") from error
    return {name: _price(table, f"{path}, [{name!r}]") for name, table in tables.items()}


def _price(table: Any, where: str) -> Price:
    if not isinstance(table, Mapping):
        raise UsageError(f"{where} is {table!r}, and no table of prices; a price is {_EXAMPLE}")
    for key in table:
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, 1)
            meant = f" Did you mean {near[0]}?" if near else ""
            hint = ""
            if isinstance(table[key], Mapping):
                hint = ' A name with dots or slashes stands in quotes, as in ["gpu-box:8000"].'
            raise UsageError(f"{where} has no {key!r}.{meant} A price has: {', '.join(_KEYS)}.{hint}")
    given = {key: _amount(value, f"{where}: {key}") for key, value in table.items()}
    if "hour" in given:
        if len(given) > 1:
            raise UsageError(f"{where} has a price by the hour and one by tokens; leave one of them out")
        return HourPrice(given["hour"])
    for key in ("input", "output"):
        if key not in given:
            raise UsageError(f"{where} lacks {key}, dollars for a million tokens (or give hour alone)")
    return TokenPrice(Rates(given["input"], given.get("cached_input", given["input"]), given["output"]))


def _amount(value: Any, where: str) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not 0 <= value <= MOST:
        raise UsageError(f"{where} is {value!r}, not a number of dollars from 0 to {MOST:,.0f}, such as 0.15")
    return float(value)


@lru_cache(maxsize=256)
def find_hosted(url: str, model: str, in_batches: bool = False) -> TokenPrice | None:
    """The price now of a model at a host, by the data of the package genai-prices: no server is asked.

    None where the package, or its price for texts, is not there.

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
            return None if found is None else _price_now(found, _BATCHES if in_batches else {})
    return None


def _is_installed() -> bool:
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
