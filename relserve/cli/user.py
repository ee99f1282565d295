"""`relserve user`: who may log in to `relserve serve`, with which models, how many tokens and which keys."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from relserve.call.durations import seconds_of
from relserve.cli.console import console
from relserve.cli.plain_text import counted
from relserve.errors import UsageError
from relserve.prices.price import dollars
from relserve.server.rights.store import check_free, forget_user, rights_path
from relserve.server.users.keys import make_key
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier

FILE_NAME = "users.json"

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Add, list, change and remove the users of `relserve serve --users FILE`. A running server sees it.",
)

_at_most = partial(typer.Option, min=0, metavar="N")
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
    int | None, _at_most(help="Tokens of prompts and replies in any 60 minutes (default: no limit).")
]
MinuteTokens = Annotated[int | None, _at_most(help="The same, in any 60 seconds.")]
DayTokens = Annotated[int | None, _at_most(help="The same, in any 24 hours.")]
AtOnce = Annotated[
    int | None, _at_most(help="Requests of OpenAI clients, and calls of MCP clients, at once.")
]
Connections = Annotated[int | None, _at_most(help="Clients of SQL at once (default: no limit).")]
Longest = Annotated[
    float | None,
    typer.Option(min=0.001, metavar="SECONDS", help="Longest statement, whatever timeout they set."),
]
DayRows = Annotated[int | None, _at_most(help="Rows that statements ask a model about on a day.")]
DayCost = Annotated[
    float | None, typer.Option(min=0, metavar="USD", help="US dollars that statements cost on a day.")
]
ReadOnly = Annotated[bool | None, typer.Option(help="Changes nothing, whatever was granted.")]
Deadline = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Rows without an answer after so long are NULL, of calls that give no deadline: seconds, or as "
        "'2 minutes' (default: the server's own).",
    ),
]


Slo = Annotated[
    str | None,
    typer.Option(
        metavar="CLASS",
        help="Limits on the time of tokens, of calls that give no slo: a class of the server's "
        "RELSERVE_SLO_CLASSES (default: the server's own).",
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
    tokens_per_minute: MinuteTokens = None,
    tokens_per_day: DayTokens = None,
    requests_at_once: AtOnce = None,
    slo: Slo = None,
    connections_at_once: Connections = None,
    longest_statement: Longest = None,
    rows_per_day: DayRows = None,
    cost_per_day: DayCost = None,
    read_only: ReadOnly = None,
    password_stdin: FromStdin = False,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="Only asks with a key: see `relserve user key`.")
    ] = False,
) -> None:
    """Add a user, and make the file where there is none. Asks for a password.

    Examples:

    * `relserve user add ann`
    * `relserve user add ann --models tiny,http://127.0.0.1:8000/v1 --tokens-per-hour 100000`
    * `relserve user add dashboard --deadline '20 s'`
    * `relserve user add root --admin --password-stdin < password.txt`
    * `relserve user add bot --no-password --tokens-per-minute 20000 --requests-at-once 8`
    """
    if no_password and password_stdin:
        raise UsageError("give --password-stdin or --no-password, not both")
    users = Users.load(file) if file.exists() else Users(file)
    user = User(
        name, None, admin, _models(models), tokens_per_hour, _deadline(deadline),
        tokens_per_minute, tokens_per_day, requests_at_once, slo=slo or None,
        is_read_only=bool(read_only), connections_at_once=connections_at_once,
        longest_statement_s=longest_statement, rows_per_day=rows_per_day, cost_per_day=cost_per_day,
    )  # fmt: skip
    check_free(file, name)
    users.add(user)  # before anybody types a password for a name that cannot be
    if not no_password:
        users.put(replace(user, verifier=_verifier(password_stdin)))
    users.save()
    may = f"is added without a password: `relserve user key {name}`" if no_password else "may log in"
    _say(f"{name} {may}; {file} has {counted(len(users.all()), 'user')}")


@app.command("list")
def list_command(file: File = Path(FILE_NAME)) -> None:
    """Show who is in the file, and what they may do."""
    from rich.table import Table

    table = Table(header_style="bold")
    for column in ("user", "admin", "models", "tokens", "deadline", "slo", "at once", "keys"):
        table.add_column(column)
    for user in Users.load(file).all():
        own = "any" if user.is_admin else "the server's own"
        models = own if user.models is None else ", ".join(sorted(user.models)) or "none"
        ends = "" if user.deadline_s is None else f"{user.deadline_s:g} s"
        at_once = _at_once(user)
        keys = ", ".join(f"..{key.end}" for key in user.keys)
        rest = (_limits(user), ends, user.slo or "", at_once, keys)
        admin = "yes" if user.is_admin else "reads only" if user.is_read_only else ""
        table.add_row(user.name, admin, models, *rest)
    console().print(table)


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
    tokens_per_minute: MinuteTokens = None,
    tokens_per_day: DayTokens = None,
    requests_at_once: AtOnce = None,
    connections_at_once: Connections = None,
    longest_statement: Longest = None,
    rows_per_day: DayRows = None,
    cost_per_day: DayCost = None,
    no_limit: Annotated[
        bool,
        typer.Option(
            "--no-limit", help="As many tokens, requests and connections, and as long, as they like."
        ),
    ] = False,
    read_only: ReadOnly = None,
    deadline: Deadline = None,
    no_deadline: Annotated[
        bool, typer.Option("--no-deadline", help="The server's own deadline again.")
    ] = False,
    slo: Slo = None,
    no_slo: Annotated[bool, typer.Option("--no-slo", help="The server's own limits again.")] = False,
) -> None:
    """Change what a user may do, from their next login on.

    Examples:

    * `relserve user change ann --models tiny --tokens-per-hour 50000`
    * `relserve user change ann --no-limit --no-admin`
    """
    given = {
        "tokens_per_minute": tokens_per_minute, "tokens_per_hour": tokens_per_hour,
        "tokens_per_day": tokens_per_day, "requests_at_once": requests_at_once,
        "connections_at_once": connections_at_once, "longest_statement_s": longest_statement,
        "rows_per_day": rows_per_day, "cost_per_day": cost_per_day,
    }  # fmt: skip
    limits = {field: limit for field, limit in given.items() if limit is not None}
    if (models is not None and any_model) or (limits and no_limit):
        raise UsageError("give --models or --default-models, and limits or --no-limit, not both")
    if deadline is not None and no_deadline:
        raise UsageError("give --deadline or --no-deadline, not both")
    if slo is not None and no_slo:
        raise UsageError("give --slo or --no-slo, not both")
    changes: dict[str, Any] = dict(given if no_limit else limits)
    if admin is not None:
        changes["is_admin"] = admin
    if read_only is not None:
        changes["is_read_only"] = read_only
    if models is not None or any_model:
        changes["models"] = _models(models)
    if deadline is not None or no_deadline:
        changes["deadline_s"] = _deadline(deadline)
    if slo is not None or no_slo:
        changes["slo"] = slo or None
    users = Users.load(file)
    users.put(replace(users.get(name), **changes))
    users.save()
    _say(f"{name} is changed in {file}")


@app.command("passwd")
def passwd_command(name: Name, file: File = Path(FILE_NAME), password_stdin: FromStdin = False) -> None:
    """Give a user another password. Who is logged in stays so."""
    users = Users.load(file)
    users.put(replace(users.get(name), verifier=_verifier(password_stdin)))
    users.save()
    _say(f"{name} has a new password")


@app.command("key")
def key_command(
    name: Name,
    file: File = Path(FILE_NAME),
    revoke: Annotated[
        str | None,
        typer.Option(metavar="END", help="Instead, take back the key that ends so, or `all` of them."),
    ] = None,
) -> None:
    """Give a user a key for OpenAI clients of `relserve serve --openai`. It is shown once; a hash is kept.

    Examples:

    * `relserve user key bot`: another key; those before stay good
    * `relserve user key bot --revoke k3Xz`
    """
    users = Users.load(file)
    user = users.get(name)
    if revoke is not None:
        left = tuple(key for key in user.keys if revoke not in ("all", key.end))
        if len(left) == len(user.keys):
            there = ", ".join(f"..{key.end}" for key in user.keys) or "none"
            raise UsageError(f"{name} has no key that ends with {revoke!r}; there is: {there}")
        users.put(replace(user, keys=left))
        users.save()
        _say(f"{name} has {counted(len(left), 'key')} left")
        return
    secret, key = make_key()
    users.put(replace(user, keys=(*user.keys, key)))
    users.save()
    _say(secret)


@app.command("remove")
def remove_command(name: Name, file: File = Path(FILE_NAME)) -> None:
    """Take a user out of the file. Who is logged in stays so until they leave."""
    users = Users.load(file)
    users.remove(name)
    users.save()
    forget_user(rights_path(file), name)
    _say(f"{name} is gone; {file} has {counted(len(users.all()), 'user')}")


def _models(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(each for each in map(str.strip, text.split(",")) if each)


def _limits(user: User) -> str:
    spans = zip(user.token_limits, ("a minute", "an hour", "a day"), strict=True)
    told = [f"{limit:,} {span}" for limit, span in spans if limit is not None]
    told += [f"{user.rows_per_day:,} rows a day"] if user.rows_per_day is not None else []
    told += [f"{dollars(user.cost_per_day)} a day"] if user.cost_per_day is not None else []
    return ", ".join(told) or "no limit"


def _at_once(user: User) -> str:
    """Requests and connections at once, and the longest statement."""
    limits = {"requests": user.requests_at_once, "connections": user.connections_at_once}
    told = [f"{limit} {what}" for what, limit in limits.items() if limit is not None]
    if user.longest_statement_s is not None:
        told.append(f"{user.longest_statement_s:g} s a statement")
    return ", ".join(told)


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


def _say(text: str) -> None:
    console().print(text, soft_wrap=True)
