"""Draws shell.svg: statements as `relserve shell` shows them, and their results from a real run.

    .venv/bin/python docs/pictures/draw.py [MODEL]

MODEL is `tiny` where none is named.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from pygments.token import Comment, Keyword, Literal, Name
from rich.console import Console
from rich.text import Text

import relserve
from relserve.cli.output import print_table
from relserve.cli.shell.editor import ShellLexer
from relserve.examples import MESSAGES

WIDTH = 104
STATEMENTS = (
    """SELECT country, message,
          llm_filter('Is this a complaint? {message}', message) AS says, complaint
   FROM 'messages.csv' WHERE language = 'en' LIMIT 5;""",
    """SELECT country, count(*) AS messages,
          count(*) FILTER (llm_filter('Is this a complaint? {message}', message)) AS complaints
   FROM 'messages.csv' GROUP BY country ORDER BY complaints DESC LIMIT 4;""",
)
STYLES = (
    (Keyword, "bold blue"), (Literal.String, "green"), (Literal.Number, "magenta"), (Comment, "dim italic"),
    (Name.Function, "bold cyan"), (Name.Builtin, "cyan"),
)  # fmt: skip
PAGE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>{unique_id}</title>
<style>
.{unique_id}-matrix {{
font-family: ui-monospace, Menlo, Consolas, monospace;
font-size: {char_height}px; line-height: {line_height}px }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""  # rich's own names a font to be fetched


def typed(statement: str) -> Text:
    """A statement behind the shell's prompt, in its colours."""
    text = Text("relserve> ", style="bold")
    for token, value in ShellLexer().get_tokens(statement):
        style = next((style for kind, style in STYLES if token in kind), "")
        text.append(value, style)
    return text


def main() -> None:
    """Ask, and draw beside this file."""
    model = sys.argv[1] if len(sys.argv) > 1 else "tiny"
    screen = Console(
        width=WIDTH, record=True, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )  # fmt: skip
    con = relserve.connect(model=model, progress=False)
    for statement in STATEMENTS:
        screen.print(typed(statement), end="")
        asked = statement.replace("'messages.csv'", f"'{MESSAGES}'").rstrip(";")
        print_table(screen, con.sql(asked).to_arrow_table())
    svg = screen.export_svg(title="relserve shell", code_format=PAGE, unique_id="relserve")
    lines = [line.rstrip() for line in svg.splitlines() if line.strip()]
    Path(__file__).with_name("shell.svg").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
