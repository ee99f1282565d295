"""Tab: what could stand at the cursor, as prompt_toolkit wants it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from relserve.cli.shell.catalog import CompletionNames, read_names
from relserve.cli.shell.interpreter import COMMANDS
from relserve.cli.shell.proposals import propose
from relserve.cli.shell.screen_commands import MODES
from relserve.cli.shell.shell import Shell

_MOST = 1000  # proposals shown: more letters lead on, not more lines
_MEANING_LENGTH = 60  # characters shown of what a proposal is


class ShellCompleter(Completer):
    """Completes dot commands and SQL by the database that is open; reads its names once a statement."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._names: CompletionNames | None = None
        self._num_statements = 0
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        if before.lstrip().startswith(".") and "\n" not in before:
            return self._of_command(before.lstrip(), complete_event)
        return self._of_sql(document, complete_event)

    @property
    def names(self) -> CompletionNames:
        """The names in the database as the last statement left it."""
        if self._names is None or self._num_statements != self._shell.num_statements:
            self._names = read_names(self._shell.con.raw)
            self._num_statements = self._shell.num_statements
        return self._names

    def _of_sql(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        found = propose(document.text_before_cursor, document.text_after_cursor, self.names)
        if found.is_path:
            yield from self._paths.get_completions(Document(found.prefix), event)
        for text, what in found.found[:_MOST]:
            yield Completion(text, -len(found.prefix), display_meta=what[:_MEANING_LENGTH])

    def _of_command(self, line: str, event: CompleteEvent) -> Iterator[Completion]:
        name, *arguments = line.split(" ")
        if not arguments:
            for _, command in sorted(COMMANDS.items()):
                if command.name.startswith(name.lower()):
                    rest = " " if command.usage else ""
                    yield Completion(command.name + rest, -len(name), command.name, command.help)
            return
        usage = COMMANDS[name].usage.split() if name in COMMANDS else []
        if len(arguments) > len(usage):
            return
        kind, begun = usage[len(arguments) - 1].strip("[]"), arguments[-1]
        if kind == "FILE":
            yield from self._paths.get_completions(Document(begun), event)
        for text in self._arguments(kind):
            if text.startswith(begun):
                yield Completion(text, -len(begun))

    def _arguments(self, kind: str) -> Iterable[str]:
        """What an argument may be, by its word in the usage."""
        match kind:
            case "MODE":
                return MODES
            case "TABLE" | "PATTERN":
                return self.names.tables
            case "COMMAND":
                return [name.removeprefix(".") for name in COMMANDS]
            case "on|off":
                return ("on", "off")
            case _:
                return ()
