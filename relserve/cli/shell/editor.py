"""The prompt: keys, completion, colours and history, by prompt_toolkit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import completion_is_selected, has_focus
from prompt_toolkit.formatted_text import AnyFormattedText
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style
from pygments.lexers.sql import PostgresLexer
from pygments.token import Keyword, Name, Token

from relserve.call.options import FUNCTIONS
from relserve.cli.shell.completer import ShellCompleter
from relserve.cli.shell.history import open_history
from relserve.cli.shell.reader import is_complete
from relserve.cli.shell.shell import Shell

PROMPT = "relserve> "
MORE = "     ...> "
_IS_TYPING = has_focus(DEFAULT_BUFFER)  # and not searching the history
_WORDS = {"help": ".help", "quit": ".quit", "exit": ".quit"}
_OWN = frozenset(
    (
        *FUNCTIONS,
        *"text2sql text2sql_query llm_evaluate llm_calibrate llm_materialize llm_refresh".split(),
        *"llm_queries llm_errors llm_usage llm_batches llm_workflows llm_steps".split(),
    )
)

_STYLE = Style.from_dict({  # the terminal's own colours, which suit its background
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


class Emptied(Exception):
    """Ctrl-C at the prompt; `was_empty` where there was nothing to clear."""

    def __init__(self, was_empty: bool) -> None:
        self.was_empty = was_empty
        super().__init__()


class Editor:
    """Asks for statements and dot commands.

    Args:
        folder: where the history is kept.
    """

    def __init__(self, shell: Shell, folder: Path) -> None:
        self._session: PromptSession[str] = PromptSession(
            [("class:prompt", PROMPT)],
            multiline=True,
            prompt_continuation=_continuation,
            lexer=PygmentsLexer(ShellLexer),
            style=_STYLE,
            include_default_pygments_style=False,
            completer=ShellCompleter(shell),
            complete_while_typing=False,
            auto_suggest=AutoSuggestFromHistory(),
            history=open_history(folder),
            key_bindings=_keys(),
            enable_suspend=True,
            enable_open_in_editor=True,
            tempfile_suffix=".sql",
            search_ignore_case=True,
        )

    @property
    def typed(self) -> str:
        """What stands at the prompt just now."""
        return self._session.default_buffer.text

    def ask(self) -> str:
        """What was typed.

        Raises:
            Emptied: Ctrl-C.
            EOFError: Ctrl-D on an empty line.
        """
        try:
            with patch_stdout(raw=True):  # a line from the engine's thread goes above the prompt
                return as_command(self._session.prompt())
        except KeyboardInterrupt as error:  # before the prompt was there
            raise Emptied(was_empty=True) from error


def as_command(text: str) -> str:
    """The dot command that a single word means which is typed in every shell; any other text as it is."""
    return _WORDS.get(text.strip().lower(), text)


def _continuation(width: int, line: int, num_wrapped: int) -> AnyFormattedText:
    """What stands before a further line; nothing where a long one goes on."""
    return " " * width if num_wrapped else [("class:prompt.more", MORE)]


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", filter=_IS_TYPING & ~completion_is_selected)
    def end_line(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text) or as_command(buffer.text) != buffer.text:
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    @keys.add("enter", filter=_IS_TYPING & completion_is_selected)
    def take_completion(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @keys.add("escape", "enter", filter=_IS_TYPING)
    def break_line(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @keys.add("c-c", filter=_IS_TYPING)
    @keys.add("<sigint>")
    def clear(event: KeyPressEvent) -> None:
        was_empty = not event.current_buffer.text
        event.app.exit(exception=Emptied(was_empty), style="class:aborting")

    return keys


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
