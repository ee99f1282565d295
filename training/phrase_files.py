"""The lists of phrases that a module reads from the text file of its name beside it.

A line `== NAME` begins a list, each further line is a phrase of it, to the letter. Empty lines and those that
begin with `%% ` (comments) are skipped.
"""

from pathlib import Path

HEAD, COMMENT = "== ", "%% "


class Phrases:
    """The lists of one text file, by name."""

    def __init__(self, module: str) -> None:
        """Read the file beside a module, which gives its `__file__`.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: two lists have the same name, or a phrase stands before the first list.
        """
        path = Path(module).with_suffix(".txt")
        self._lists: dict[str, list[str]] = {}
        name = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if not line or line.startswith(COMMENT):
                continue
            if line.startswith(HEAD):
                name = line.removeprefix(HEAD)
                if name in self._lists:
                    raise ValueError(
                        f"{path}, line {number}: a second list {name!r}: rename one"
                    )
                self._lists[name] = []
            elif not name:
                raise ValueError(
                    f"{path}, line {number}: put `== NAME` above its first phrase"
                )
            else:
                self._lists[name].append(line)

    def __getitem__(self, name: str) -> tuple[str, ...]:
        """The phrases of a list.

        Raises:
            KeyError: there is no list of that name.
        """
        return tuple(self._lists[name])

    def group(self, name: str) -> dict[str, tuple[str, ...]]:
        """The lists named `NAME: KEY`, by key, in the order of the file."""
        head = f"{name}: "
        return {
            key.removeprefix(head): tuple(found) for key, found in self._lists.items() if key.startswith(head)
        }
