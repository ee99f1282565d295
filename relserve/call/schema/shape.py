"""What is known of a type that llm_extract may find."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from random import Random
from typing import Any, Protocol

TEXT_CHARS = 256  # of a text, for which an answer has room where the call says nothing; longer ones are read
MAX_ITEMS = 32  # of a list; an engine is let write one more, which tells that there were more

JsonSchema = dict[str, Any]

_META = re.compile(r"[\\.^$|?*+()\[\]{}]")


class Misfit(Exception):
    """A value is not of its type; the message says which and why."""


class SchemaShape(Protocol):
    """One type: the grammars that hold an engine to it, and the check that a value fits it.

    vLLM gets a regex and not the JSON schema: under a schema it allows any number of spaces between
    values, and small models fill their replies with them.
    """

    @property
    def words(self) -> str:
        """How the instruction describes it."""

    @property
    def max_chars(self) -> int:
        """Most characters that it takes in a reply."""
        return len(self.longest or "")

    @property
    def longest(self) -> str | None:
        """The longest JSON of its values; None where texts or lists in it may have any length."""

    def regex(self) -> str:
        """Its JSON without needless spaces, which holds vLLM to it."""

    def json_schema(self) -> JsonSchema:
        """What holds other servers to it."""

    def read(self, value: Any, where: str) -> Any:
        """The value as DuckDB's from_json takes it over without loss.

        Args:
            value: from `json.loads` with `json_number` for numbers that are not whole.
            where: the value's place in the reply, "" for the reply itself.

        Raises:
            Misfit: it is no value of the type.
        """

    def sample(self, random: Random) -> Any:
        """Some JSON value that fits."""


class PatternShape(SchemaShape, Protocol):
    """A type whose values are JSON strings under a pattern."""

    @property
    def pattern(self) -> str:
        """What the string matches."""

    def regex(self) -> str:
        return f'"{self.pattern}"'

    def json_schema(self) -> JsonSchema:
        return matching(self.pattern)


def literal(text: str) -> str:
    """A regex for this very text as a JSON string."""
    return _META.sub(r"\\\g<0>", json.dumps(text, ensure_ascii=False))


def matching(regex: str) -> JsonSchema:
    """The schema of a JSON string that matches a regex."""
    return {"type": "string", "pattern": f"^{regex}$"}


def misfit(value: Any, where: str, wanted: str) -> Misfit:
    """What to raise for a value that is not what was wanted."""
    shown = str(value) if isinstance(value, Decimal) else repr(value)
    return Misfit(f"{where or 'it'} is {shown if len(shown) <= 60 else shown[:57] + '...'}, not {wanted}")
