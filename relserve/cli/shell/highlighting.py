"""Colours of what is typed: SQL as Pygments reads it, relserve's functions, dot commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prompt_toolkit.styles import Style
from pygments.lexers.sql import PostgresLexer
from pygments.token import Keyword, Name, Token

from relserve.call.options import FUNCTIONS

_OWN = frozenset(
    (
        *FUNCTIONS,
        *"text2sql text2sql_query llm_evaluate llm_calibrate llm_materialize llm_refresh".split(),
        *"llm_queries llm_errors llm_usage llm_batches llm_workflows llm_steps".split(),
    )
)

STYLE = Style.from_dict({  # the terminal's own colours, which suit its background
    "pygments.keyword": "ansiblue bold",
    "pygments.literal.string": "ansigreen",
    "pygments.literal.number": "ansimagenta",
    "pygments.comment": "ansibrightblack italic",
    "pygments.name.builtin": "ansicyan",
    "pygments.name.function": "ansicyan bold",
    "prompt": "bold",
    "prompt.more": "ansibrightblack",
    "auto-suggestion": "ansibrightblack",
})  # fmt: skip


class ShellLexer(PostgresLexer):  # type: ignore[misc]  # Pygments has no types
    """PostgreSQL's tokens, which DuckDB's grammar began as."""

    name = "relserve shell"
    aliases: list[str] = []  # noqa: RUF012  # as Pygments declares it
    filenames: list[str] = []  # noqa: RUF012

    def get_tokens_unprocessed(self, text: str, *args: Any) -> Iterator[tuple[int, Any, str]]:
        """See `Lexer`."""
        if text.lstrip().startswith("."):
            command = text.split(" ", 1)[0]
            yield 0, Keyword, command
            yield len(command), Token.Text, text[len(command) :]
            return
        for at, kind, value in super().get_tokens_unprocessed(text, *args):
            yield at, Name.Function if value.lower() in _OWN else kind, value
