"""Which servers the SQL of one caller may name as a model.

A view, a macro or a column's default of a database may be a stranger's, and the prompts that it makes are the
caller's: it names the servers that the caller allowed, or has named themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from relserve.call.hosts import host_of, is_among, is_url
from relserve.engines.fleet.name import is_fleet
from relserve.errors import ForbiddenError

# Strings, and what may hold their marks without beginning one.
_TOKENS = re.compile(
    r"""'(?P<text>[^']*+)(?:'|\Z) | \$\w*\$(?P<dollars>[^$]*+)\$ | "[^"]*+(?:"|\Z)
    | --[^\n]*+ | /\*(?:[^*]|\*(?!/))*+""",
    re.X,
)


class ModelHosts:
    """The servers that one caller's calls may name.

    Args:
        models: that any call may name, by their names; None: the default model.
        hosts: whose models any call may name, as `relserve.call.hosts` lists them.
    """

    def __init__(self, models: Iterable[str | None] = (), hosts: Iterable[str] = ()) -> None:
        self._hosts = frozenset(hosts)
        self._known = frozenset(map(_place_of, filter(None, models)))

    def allow(self, models: Iterable[str]) -> None:
        """Let any call name these models' servers."""
        self._known = self._known | frozenset(map(_place_of, models))

    def note(self, text: str, parameters: Any = None) -> None:
        """The caller runs a text of their own: the servers that it names are theirs from now on."""
        values = parameters.values() if isinstance(parameters, Mapping) else parameters
        found: list[Any] = list(values or ())
        if "://" in text or "fleet:" in text:  # a whole literal: a URL within other text is data
            found += [each["text"] or each["dollars"] for each in _TOKENS.finditer(text)]
        self.allow(each for each in found if isinstance(each, str) and _is_elsewhere(each))

    def check(self, model: str | None) -> None:
        """Refuse a server that only the database names.

        Args:
            model: as a call names it; None: it names none.

        Raises:
            ForbiddenError: says how to allow it.
        """
        if model is None or not _is_elsewhere(model):
            return
        place = _place_of(model)
        if place in self._known or (is_url(model) and is_among(place, self._hosts)):
            return
        allowed = f", or set RELSERVE_MODEL_HOSTS={place}" if is_url(model) else ""
        raise ForbiddenError(
            f"a view, a macro, a table's default or data of the database names the model {model!r}, which "
            "stands in no statement of yours; your rows were not sent there. If that is what you want, name "
            f"the model yourself (model := '{model}'){allowed}"
        )


def _is_elsewhere(model: str) -> bool:
    """Whether a model may be on other machines; the others run here."""
    return is_url(model) or is_fleet(model)


def _place_of(model: str) -> str:
    return host_of(model) if is_url(model) else model
