"""`relserve user`: who may log in to `relserve serve`, with which models and how many tokens."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from relserve.call.durations import seconds_of
from relserve.cli.console import console
from relserve.errors import UsageError
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier

FILE_NAME = "users.json"

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Add, list, change and remove the users of `relserve serve --users FILE`. A running server sees it.",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="By which clients log in.")]
File = Annotated[Path, typer.Option("--file", "-f", help="The users file.")]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from stdin instead of asking for it.")
]
Models = Annotated[
    str | None,
    typer.Option(
        metavar="A,B", help="Models that the user may ask (default: the server's own; an admin: any)."
    ),
]
Tokens = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="N", help="Tokens of prompts and replies in any 60 minutes (default: no limit)."
    ),
]

Deadline = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Rows without an answer after so long are NULL, of calls that give no deadline: seconds, or as "
        "'2 minutes' (default: the server's own).",
    ),
]


@app.command("add")
def add_command(
    name: Name,
    file: File = Path(FILE_NAME),
    admin: Annotated[
        bool, typer.Option("--admin", help="Sees and stops everybody's statements; any model.")
    ] = False,
    models: Models = None,
    tokens_per_hour: Tokens = None,
    deadline: Deadline = None,
    password_stdin: FromStdin = False,
) -> None:
    """Add a user, and make the file where there is none. Asks for a password.

    Examples:

    * `relserve user add ann`
    * `relserve user add ann --models tiny,http://127.0.0.1:8000/v1 --tokens-per-hour 100000`
    * `relserve user add dashboard --deadline '20 s'`
    * `relserve user add root --admin --password-stdin < password.txt`
    """
    users = Users.load(file) if file.exists() else Users(file)
    user = User(name, None, admin, _models(models), tokens_per_hour, _deadline(deadline))
    users.add(user)  # before anybody types a password for a name that cannot be
    users.put(replace(user, verifier=_verifier(password_stdin)))
    users.save()
    _say(f"{name} may log in; {file} has {_count(users)}")


@app.command("list")
def list_command(file: File = Path(FILE_NAME)) -> None:
    """Show who is in the file, and what they may do."""
    table = Table(header_style="bold")
    for column in ("user", "admin", "models", "tokens an hour", "deadline"):
        table.add_column(column)
    for user in Users.load(file).all():
        own = "any" if user.is_admin else "the server's own"
        models = own if user.models is None else ", ".join(sorted(user.models)) or "none"
        limit = "no limit" if user.tokens_per_hour is None else f"{user.tokens_per_hour:,}"
        ends = "" if user.deadline_s is None else f"{user.deadline_s:g} s"
        table.add_row(user.name, "yes" if user.is_admin else "", models, limit, ends)
    console().print(table, markup=False)


@app.command("change")
def change_command(
    name: Name,
    file: File = Path(FILE_NAME),
    admin: Annotated[bool | None, typer.Option(help="See `relserve user add`.")] = None,
    models: Models = None,
    any_model: Annotated[
        bool, typer.Option("--default-models", help="The server's own model again; an admin: any.")
    ] = False,
    tokens_per_hour: Tokens = None,
    no_limit: Annotated[bool, typer.Option("--no-limit", help="As many tokens as they like.")] = False,
    deadline: Deadline = None,
    no_deadline: Annotated[
        bool, typer.Option("--no-deadline", help="The server's own deadline again.")
    ] = False,
) -> None:
    """Change what a user may do, from their next login on.

    Examples:

    * `relserve user change ann --models tiny --tokens-per-hour 50000`
    * `relserve user change ann --no-limit --no-admin`
    """
    if (models is not None and any_model) or (tokens_per_hour is not None and no_limit):
        raise UsageError("give --models or --default-models, and --tokens-per-hour or --no-limit, not both")
    if deadline is not None and no_deadline:
        raise UsageError("give --deadline or --no-deadline, not both")
    users = Users.load(file)
    user = users.get(name)
    if admin is not None:
        user = replace(user, is_admin=admin)
    if models is not None or any_model:
        user = replace(user, models=_models(models))
    if tokens_per_hour is not None or no_limit:
        user = replace(user, tokens_per_hour=tokens_per_hour)
    if deadline is not None or no_deadline:
        user = replace(user, deadline_s=_deadline(deadline))
    users.put(user)
    users.save()
    _say(f"{name} is changed in {file}")


@app.command("passwd")
def passwd_command(name: Name, file: File = Path(FILE_NAME), password_stdin: FromStdin = False) -> None:
    """Give a user another password. Who is logged in stays so."""
    users = Users.load(file)
    users.put(replace(users.get(name), verifier=_verifier(password_stdin)))
    users.save()
    _say(f"{name} has a new password")


@app.command("remove")
def remove_command(name: Name, file: File = Path(FILE_NAME)) -> None:
    """Take a user out of the file. Who is logged in stays so until they leave."""
    users = Users.load(file)
    users.remove(name)
    users.save()
    _say(f"{name} is gone; {file} has {_count(users)}")


def _models(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(each for each in map(str.strip, text.split(",")) if each)


def _deadline(text: str | None) -> float | None:
    """Seconds; raises OptionError."""
    return None if text is None else seconds_of("--deadline", text)


def _verifier(from_stdin: bool) -> str:
    """A verifier of a password that somebody types, or pipes in.

    Raises:
        UsageError: there is none, or nobody who could type it.
    """
    if from_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    elif sys.stdin.isatty():
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        raise UsageError("stdin is no terminal, so nobody can be asked for a password; add --password-stdin")
    if not password:
        raise UsageError("the password is empty")
    return make_verifier(password)


def _count(users: Users) -> str:
    count = len(users.all())
    return f"{count} user" + ("" if count == 1 else "s")


def _say(text: str) -> None:
    console().print(text, markup=False, highlight=False, soft_wrap=True)
