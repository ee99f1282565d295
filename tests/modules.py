"""Modules that take seconds to import, loaded by the first test that uses them."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest

# The names of all modules that were there before the first test ran.
IMPORTED_BY_COLLECTING = pytest.StashKey[frozenset[str]]()
# What is not brought by vLLM, or quick to import.
_NO_PART_OF_VLLM = ("scipy.", "sklearn.", "llguidance.")


class _Later:
    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith(("_", "pytest")):  # pytest looks for these at every global of a test's module
            raise AttributeError(attribute)
        return getattr(self._module(), attribute)

    def __setattr__(self, attribute: str, value: Any) -> None:  # as monkeypatch does
        setattr(self._module(), attribute, value)

    def _module(self) -> Any:
        return pytest.importorskip(self._name, reason=_missing(self._name))


def later(name: str) -> Any:
    """Stands for a module, which is imported when an attribute of it is first read.

    A test that reads one is skipped where the module is not installed. Collecting the tests then imports
    neither torch nor vLLM.
    """
    return _Later(name)


@cache
def uses_vllm(module: ModuleType) -> bool:
    """Whether a test's module loads later what is vLLM, uses it, or comes with it, as torch does."""
    names = [each._name for each in vars(module).values() if type(each) is _Later]
    return any(not f"{name}.".startswith(_NO_PART_OF_VLLM) for name in names)


def needs(name: str) -> pytest.MarkDecorator:
    """The mark of tests that are skipped where a package is not installed; it does not import the package."""
    return pytest.mark.skipif(find_spec(name) is None, reason=_missing(name))


def _missing(name: str) -> str:
    return f"{name.partition('.')[0]} is not installed"
