"""What a text asks of its own client: its process id, its user, its settings, and the other clients."""

from collections.abc import Callable

from sqlglot import exp

from relserve.server.catalog.asked.asked import CatalogContext
from relserve.server.catalog.asked.functions import duckdbs_function
from relserve.server.catalog.asked.relations import call_as_table, catalog_tables
from relserve.server.catalog.facts import Facts

_USERS = (exp.CurrentUser, exp.SessionUser, exp.CurrentRole)
_FELT = frozenset(
    "application_name client_encoding datestyle default_transaction_isolation default_transaction_read_only "
    "idle_in_transaction_session_timeout intervalstyle lock_timeout search_path statement_timeout timezone "
    "transaction_isolation transaction_read_only".split()
)


def name_the_client(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """The client's process id, user and settings are written into the text."""
    if asked.facts is None:
        return tree
    for node in list(tree.find_all(*_USERS)):
        node.replace(exp.Literal.string(asked.facts.user))
    for call in list(tree.find_all(exp.Anonymous)):
        told = _told(call, asked, asked.facts)
        if told is not None:
            call.replace(told)
    return tree


def show_the_clients(tree: exp.Expression, asked: CatalogContext) -> exp.Expression:
    """Who is connected, who may be, and what is set, as this client may see it."""
    if asked.facts is None or not any(table.name.lower() in _SHOWN for table in tree.find_all(exp.Table)):
        return tree
    for table, schema in catalog_tables(tree, asked):
        show = _SHOWN.get(table.name.lower())
        if show is not None and schema == "cat":
            call_as_table(table, *show(asked, asked.facts))
    return tree


def _told(call: exp.Anonymous, asked: CatalogContext, facts: Facts) -> exp.Expression | None:
    name = call.name.lower()
    first = call.expressions[0].unalias() if call.expressions else None
    if name == "pg_backend_pid":
        return exp.Literal.number(facts.pid)
    if first is not None and name == "current_setting":
        return _setting(first, len(call.expressions) > 1, asked, facts)
    if name == "set_config" and len(call.expressions) == 3:
        return _set(call.expressions, asked)
    return None


def _setting(
    which: exp.Expression, may_lack: bool, asked: CatalogContext, facts: Facts
) -> exp.Expression | None:
    """A setting's value; one that nobody has is asked of DuckDB, or NULL where the text allows it."""
    name = _text(which)
    if name is None:
        return exp.Bracket(this=_values(asked, facts), expressions=[which.copy()])
    value = facts.setting(name)
    value = asked.names.settings.get(name.lower()) if value is None else value
    return exp.Literal.string(value) if value is not None else exp.Null() if may_lack else None


def _set(arguments: list[exp.Expression], asked: CatalogContext) -> exp.Expression | None:
    """A setting that changes nothing here may be set; for any other DuckDB has no such function."""
    name = (_text(arguments[0]) or "").lower()
    harmless = name in asked.names.settings and name not in _FELT
    return arguments[1].copy() if harmless else None


def _text(node: exp.Expression) -> str | None:
    node = node.this if isinstance(node, exp.Cast) else node
    return node.name if node.is_string else None


def _values(asked: CatalogContext, facts: Facts) -> exp.Expression:
    """All settings, as a map."""
    told = {name: facts.setting(name) for name in asked.names.written}
    known = {name: value for name, value in told.items() if value is not None}
    lists = (
        duckdbs_function("list_value", *map(exp.Literal.string, each)) for each in (known, known.values())
    )
    return duckdbs_function("map", *lists)


def _role(facts: Facts) -> list[exp.Expression]:
    return [exp.Literal.string(facts.user), exp.Boolean(this=facts.is_admin)]


_Show = Callable[[CatalogContext, Facts], tuple[str, list[exp.Expression]]]
_SHOWN: dict[str, _Show] = {
    "pg_stat_activity": lambda asked, facts: ("activity_of", []),
    "pg_roles": lambda asked, facts: ("roles_of", _role(facts)),
    "pg_authid": lambda asked, facts: ("roles_of", _role(facts)),
    "pg_user": lambda asked, facts: ("users_of", _role(facts)),
    "pg_settings": lambda asked, facts: ("settings_of", [_values(asked, facts)]),
}
