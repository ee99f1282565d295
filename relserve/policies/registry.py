"""The one table of names: each kind of policy declares what may be chosen, and by which names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Numbered = Callable[[str, int], T]
"""Makes something by its name and the number that the name ends with."""
NONE: Mapping[str, Any] = MappingProxyType({})


class Registry(Generic[T]):
    """What may be chosen by name, in the order in which messages list it.

    Args:
        what: what the names are names of, in the singular, for messages.
        makers: by name. A maker is called with the name, and with what `make` is given beside it.
        numbered: by the first part of names such as `static-512`, for which any whole number above 0 stands.
        former: earlier names, which configurations may still have, with those that took their place.
    """

    def __init__(
        self,
        what: str,
        makers: Mapping[str, Callable[..., T]],
        numbered: Mapping[str, Numbered[T]] = NONE,
        former: Mapping[str, str] = NONE,
    ) -> None:
        self.what, self._makers, self._numbered = what, dict(makers), dict(numbered)
        self._former = dict(former)

    @property
    def names(self) -> tuple[str, ...]:
        """All names but those that end with a number of the user's choice."""
        return tuple(self._makers)

    def __contains__(self, name: object) -> bool:
        return self._maker(name) is not None

    def make(self, name: str, *args: Any, **kwargs: Any) -> T:
        """What has this name, made anew.

        Args:
            args, kwargs: for the maker, after the name; a maker of numbered names is given none.

        Raises:
            ValueError: nothing has this name; the message lists those that there are.
        """
        maker = self._maker(name)
        if maker is None:
            raise ValueError(self.unknown(name))
        return maker(self._former.get(name, name), *args, **kwargs)

    def unknown(self, name: str, *others: str) -> str:
        """The message for a name that nothing has; `others` are names that the caller knows besides."""
        families = [f"any {family}-N" for family in self._numbered]
        there = ", ".join([*others, *self._makers, *families])
        return f"no {self.what} {name!r}; there are: {there}"

    def _maker(self, name: object) -> Callable[..., T] | None:
        if not isinstance(name, str):
            return None
        name = self._former.get(name, name)
        if name in self._makers:
            return self._makers[name]
        family, _, number = name.partition("-")
        if family not in self._numbered or not number.isdecimal() or not int(number):
            return None
        numbered = self._numbered[family]
        return lambda name, *_, **__: numbered(name, int(number))
