"""From a model's name to its price: your own file first, then what hosts ask, then the machine's hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from relserve.call.hosts import BATCH, host_of, is_url, without_user
from relserve.prices.file import read_prices
from relserve.prices.hosted import find_hosted, is_installed
from relserve.prices.price import HourPrice, Price

SCRIPTED = "scripted"


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
        return cls({} if path is None else read_prices(path), hour)

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
        if is_url(model) and not is_installed():
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
