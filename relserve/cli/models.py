"""`relserve models`: which models a call can name, and which one is the default; `check` tries one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from relserve.call.hosted_names import START_HERE
from relserve.cli.console import console
from relserve.settings import load

if TYPE_CHECKING:  # every command imports this file
    from rich.console import RenderableType

app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode="markdown",
)


@app.callback()
def show(context: typer.Context) -> None:
    """Say which models a call can name, and which one is the default; `check` tries one."""
    if context.invoked_subcommand is not None:
        return
    console().print(models_page())


def models_page() -> RenderableType:
    """What `relserve models` shows."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from relserve.engines.registry import KINDS
    from relserve.machine import packaged

    table = Table("model", "what it is", box=None, header_style="bold")
    for name, what in KINDS.items():
        table.add_row(Text(name), Text(f"{what} ({packaged.state()})" if name == packaged.NAME else what))
    how = f"""
The default is {load().model!r}. Change it with --model, RELSERVE_MODEL, or per call:
  SELECT llm('..', x, model := 'http://127.0.0.1:8000/v1')
Try one: relserve models check NAME
{START_HERE}: a laptop, a GPU, hosts such as OpenAI and OpenRouter, a vLLM of your own"""
    return Group(table, Text(how))


@app.command("check")
def check_command(
    name: Annotated[
        str, typer.Argument(help="'tiny', a folder, a hub id or a URL, as a call would name it.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Write one JSON object, for programs.")] = False,
) -> None:
    """Load a model, try what it can do, and say on one page what to set for it.

    Its architecture, size, context and chat template; the memory and threads that it gets; tokens a second;
    whether answers can be held to a grammar and tell their probability; and a sample of every llm function.
    Of a URL: what the server tells and what it refuses. Takes the model's start and some seconds more.

    Examples:

    * `relserve models check ~/models/qwen`
    * `RELSERVE_ENGINE_ARGS='{"max_model_len": 8192}' relserve models check org/name`
    * `relserve models check http://127.0.0.1:8000/v1 --json | jq .advice`
    """
    from relserve.cli import model_page

    model_page.check(name, json)
