"""What a text asks of its own client."""

import re

from sqlglot import exp

from relserve.server.catalog.asked.asked import Asked
from relserve.server.catalog.build import DATABASE
from relserve.server.catalog.facts import Facts

_USERS = (exp.CurrentUser, exp.SessionUser, exp.CurrentRole)
_PLANNERS = re.compile(r"(?i)jit(_\w+)?|enable_\w+|geqo|plan_cache_mode|from_collapse_limit|join_collapse_limit")
_SIGNALS = {"pg_cancel_backend": "cancel", "pg_terminate_backend": "terminate"}


def name_the_client(tree: exp.Expression, asked: Asked) -> exp.Expression:
    """The client's process id, user and settings are written into the text; it signals by `_pg_signal`."""
    facts = asked.facts
    if facts is None:
        return tree
    for node in list(tree.find_all(*_USERS)):
        node.replace(exp.Literal.string(facts.user))
    for call in list(tree.find_all(exp.Anonymous)):
        told = _told(call, facts)
        if told is not None:
            _replace_call(call, told)
    for table in tree.find_all(exp.Table):
        if table.name.lower() == "pg_stat_activity" and table.db.lower() in ("", "pg_catalog"):
            _show_clients(table, facts, asked.seal)
    return tree


def _told(call: exp.Anonymous, facts: Facts) -> exp.Expression | None:
    name = call.name.lower()
    if name == "pg_backend_pid":
        return exp.Literal.number(facts.pid)
    if name == "current_setting":
        return _setting(call, facts)
    if name == "set_config":
        return _set_without_effect(call)
    if name in _SIGNALS and call.expressions:
        words = (exp.Literal.string(facts.token), call.expressions[0], exp.Literal.string(_SIGNALS[name]))
        return exp.Anonymous(this="_pg_signal", expressions=list(words))
    return None


def _setting(call: exp.Anonymous, facts: Facts) -> exp.Expression | None:
    """A setting's value; one that the client has not is asked of DuckDB, or NULL where the text allows it."""
    if not call.expressions or not call.expressions[0].is_string:
        return None
    value = facts.setting(call.expressions[0].name)
    if value is not None:
        return exp.Literal.string(value)
    return exp.Null() if len(call.expressions) > 1 else None


def _set_without_effect(call: exp.Anonymous) -> exp.Expression | None:
    """The value that a setting of PostgreSQL's planner is given, which DuckDB has none like."""
    words = [each.name for each in call.expressions[:2] if each.is_string]
    return exp.Literal.string(words[1]) if len(words) == 2 and _PLANNERS.fullmatch(words[0]) else None


def _replace_call(call: exp.Anonymous, told: exp.Expression) -> None:
    """Put a value in place of a call, and of its schema if it has one."""
    outer = call.parent
    named_in_full = isinstance(outer, exp.Dot) and outer.expression is call
    (outer if named_in_full else call).replace(told)  # type: ignore[union-attr]


def _show_clients(table: exp.Table, facts: Facts, seal: str) -> None:
    arguments = [exp.Literal.string(facts.user), exp.Boolean(this=facts.is_admin), exp.Literal.string(seal)]
    if not table.alias:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
    table.set("this", exp.Anonymous(this="activity_of", expressions=arguments))
    table.set("db", exp.to_identifier("cat"))
    table.set("catalog", exp.to_identifier(DATABASE))
