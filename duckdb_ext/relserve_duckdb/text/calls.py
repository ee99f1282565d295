"""The llm calls in a statement's text: found, and checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from relserve.call.option_specs import OPTIONS
from relserve.call.options import FUNCTIONS, parse_options
from relserve.call.template import Template, has_placeholders, swapped
from relserve.errors import TemplateError, UsageError
from relserve_duckdb.text.call_limits import (
    ASCENDING,
    CALLED,
    LISTS,
    MAX_VALUES,
    TEXT2SQL_QUERY,
    one_value_only,
    too_many_values,
    varying_template,
)
from relserve_duckdb.text.question_calls import QUESTION
from relserve_duckdb.text.question_options import ROW_NAMES, check_name

_UNKNOWN = object()  # an expression whose value only DuckDB can tell
_GUARDS = (exp.Case, exp.If, exp.Coalesce, exp.Or, exp.And)

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class LlmCall:
    """One llm call: its function and the expressions it is given."""

    node: exp.Anonymous
    function: str
    template: exp.Expr | None
    values: tuple[exp.Expr, ...]
    options: Mapping[str, exp.Expr]


def find_calls(tree: exp.Expr) -> list[LlmCall]:
    """The llm calls of a parsed statement."""
    nodes = ((node, _function_of(node)) for node in tree.find_all(exp.Anonymous))
    return [_read(node, function) for node, function in nodes if function in CALLED]


def check_call(call: LlmCall, parameters: Parameters) -> None:
    """Check everything about a call that its text tells: number of values, template, options.

    Raises:
        UsageError: too many values, or a column as the template.
        TemplateError, OptionError: see `Template.bind` and `parse_options`.
    """
    dot = call.node.parent
    if isinstance(dot, exp.Dot) and dot.this.sql("duckdb") != "temp.main":
        return  # `template.llm(value)` or `main.llm(..)`: DuckDB alone knows what it is given
    if call.function == TEXT2SQL_QUERY:
        _check_question(call)
        return
    if _is_aggregate(call.function) and len(call.values) != 1:
        raise UsageError(one_value_only(call.function, len(call.values)))
    if len(call.values) > MAX_VALUES:
        raise UsageError(too_many_values(call.function))
    if call.template is None:
        raise UsageError(f"{call.function}() needs a template: {call.function}('.. {{}} ..', value)")
    if not call.values and call.template.find(exp.Column) is not None:
        raise UsageError(varying_template(call.function))
    _check_options(call, parameters)
    text = _constant(call.template, parameters)
    if isinstance(text, str):
        try:
            template = Template.parse(text)
            by_name = len(call.values) == 1 and template.names
            if not (by_name and _may_be_row(call.values[0], parameters)):
                _bind(call, template)
        except TemplateError as error:
            is_callers = not FUNCTIONS[call.function].template
            if is_callers and any(has_placeholders(_constant(each, parameters)) for each in call.values):
                raise swapped(call.function) from None  # the error quotes what may be somebody's text
            raise error


def _bind(call: LlmCall, template: Template) -> None:
    """See that the values fit; a template written before a column is nobody's data, so it is shown."""
    try:
        template.bind(len(call.values))
    except TemplateError as error:
        is_written = isinstance(call.template, exp.Literal) and any(v.find(exp.Column) for v in call.values)
        if error.template or not is_written:
            raise
        raise TemplateError(error.problem, template.text, len(template.text), error.hint) from None


def by_name(parameters: Any) -> Parameters:
    """Parameters by the name that a text uses for them: $1, $name."""
    if isinstance(parameters, Mapping):
        return parameters
    return {str(i): value for i, value in enumerate(parameters or (), 1)}


def has_no_column(call: LlmCall) -> bool:
    """Whether a call's prompt is the same for all rows of a SELECT that reads some."""
    select = call.node.parent_select
    reads = isinstance(select, exp.Select) and select.args.get("from_") is not None
    return reads and not call.values and isinstance(call.template, exp.Literal)


def are_independent(calls: Sequence[LlmCall], root: exp.Expr) -> bool:
    """Whether no call's inputs depend on another call's answers, as far as the text tells.

    True when all of them are plain output columns of the statement.
    """
    if len(calls) == 1:
        return True
    if any(_is_aggregate(call.function) for call in calls):
        return False  # what is in a group may depend on the others
    if root.args.get("limit") and root.args.get("order"):
        return False
    return all(_is_plain_output(call.node, root) for call in calls)


def look_alike_behind_guards(calls: Sequence[LlmCall]) -> bool:
    """Whether a guard decides between calls that look alike but for their values.

    `llm_filter('{}?', a) OR llm_filter('{}?', b)` asks about b only where the answer about a is no; a
    rehearsal could not tell the two apart and would ask both for every row.
    """
    heads = [(call.function, call.template, call.options) for call in calls]
    guarded = [call.node.find_ancestor(*_GUARDS) is not None for call in calls]
    return any(heads.count(head) > 1 for head, guard in zip(heads, guarded, strict=True) if guard)


def template_text(call: LlmCall, parameters: Parameters) -> str | None:
    """The text of a call's template; None where only DuckDB can tell it."""
    text = None if call.template is None else _constant(call.template, parameters)
    return text if isinstance(text, str) else None


def constant(node: exp.Expr, parameters: Parameters) -> Any:
    """The value of an expression that its text tells.

    Raises:
        LookupError: only DuckDB can tell.
    """
    value = _constant(node, parameters)
    if value is _UNKNOWN:
        raise LookupError(f"the text does not tell the value of {node}")
    return value


def constants_of(call: LlmCall, parameters: Parameters) -> tuple[str, dict[str, Any]]:
    """The template and the options of a call.

    Raises:
        LookupError: the text does not tell them.
    """
    template = constant(call.template, parameters) if call.template is not None else None
    if not isinstance(template, str):
        raise LookupError("no template in the text")
    return template, {name: constant(value, parameters) for name, value in call.options.items()}


def _check_question(call: LlmCall) -> None:
    if len(call.values) != 1:
        raise UsageError(f"{TEXT2SQL_QUERY}() takes one question a row, and options by name")
    for name in call.options:
        check_name(TEXT2SQL_QUERY, name, ROW_NAMES)


def _may_be_row(value: exp.Expr, parameters: Parameters) -> bool:
    """Whether a value may be a STRUCT, whose fields only DuckDB knows."""
    constant = _constant(value, parameters)
    return constant is _UNKNOWN or isinstance(constant, Mapping)


def _function_of(node: exp.Anonymous) -> str:
    """The function that a node calls, as users name it."""
    name = node.name.lower()
    return next((function for function, listed in LISTS.items() if listed == name), name)


def _is_aggregate(function: str) -> bool:
    return function in FUNCTIONS and FUNCTIONS[function].aggregate


def _read(node: exp.Anonymous, function: str) -> LlmCall:
    positional, named = [], {}
    for argument in node.expressions:
        if isinstance(argument, (exp.PropertyEQ, exp.Kwarg)):
            named[argument.this.name.lower()] = argument.expression
        else:
            positional.append(argument)
    if function == TEXT2SQL_QUERY:
        positional += [named.pop(QUESTION)] if QUESTION in named else []
        return LlmCall(node, function, None, tuple(positional), named)
    own = FUNCTIONS[function].template
    if own:
        for name in FUNCTIONS[function].positional:
            if name not in named and len(positional) > 1:
                named[name] = positional.pop(1)
        return LlmCall(node, function, exp.Literal.string(own), tuple(positional), named)
    template = positional[0] if positional else named.pop("prompt", None)
    values = positional[1:]
    if _is_aggregate(function) and "value" in named:
        values.append(named.pop("value"))
    if node.name.lower() in LISTS.values():
        named.pop(ASCENDING, None)
    return LlmCall(node, function, template, tuple(values), named)


def _check_options(call: LlmCall, parameters: Parameters) -> None:
    values = {name: _constant(expression, parameters) for name, expression in call.options.items()}
    known = {name: value for name, value in values.items() if value is not _UNKNOWN}
    if len(known) == len(values):
        parse_options(call.function, known)
        return
    for name in values:
        if name not in FUNCTIONS[call.function].options:
            parse_options(call.function, {name: None})
    for name, value in known.items():
        if value is not None:
            OPTIONS[name].check(name, value)


def _constant(node: exp.Expr, parameters: Parameters) -> Any:
    """The value of an expression that its text tells, else _UNKNOWN."""
    match node:
        case exp.Literal():
            return node.this if node.is_string else _number(node.this)
        case exp.RawString():
            return node.this
        case exp.Boolean():
            return node.this
        case exp.Null():
            return None
        case exp.Paren():
            return _constant(node.this, parameters)
        case exp.Neg():
            value = _constant(node.this, parameters)
            return -value if isinstance(value, (int, float)) else _UNKNOWN
        case exp.Array():
            items = [_constant(item, parameters) for item in node.expressions]
            return _UNKNOWN if any(item is _UNKNOWN for item in items) else items
        case exp.DPipe():
            left, right = _constant(node.this, parameters), _constant(node.expression, parameters)
            return left + right if isinstance(left, str) and isinstance(right, str) else _UNKNOWN
        case exp.Placeholder():
            return parameters.get(node.name, _UNKNOWN) if node.this else _UNKNOWN
    return _UNKNOWN


def _number(text: str) -> Any:
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        return _UNKNOWN


def _is_plain_output(node: exp.Expr, root: exp.Expr) -> bool:
    select = node.parent_select
    if not isinstance(select, exp.Select) or not _is_branch(select, root):
        return False
    item: Any = node
    while item.parent is not select:
        item = item.parent
        if isinstance(item, _GUARDS) or (isinstance(item, exp.Anonymous) and item.name.lower() in CALLED):
            return False
    if item.arg_key != "expressions" or select.args.get("qualify"):
        return False
    alias = item.alias.lower()
    return not alias or all(column.name.lower() != alias for column in select.find_all(exp.Column))


def _is_branch(select: exp.Expr, root: exp.Expr) -> bool:
    """Whether a SELECT is the statement itself or a branch of its UNION."""
    top: Any = select
    while isinstance(top.parent, exp.Union):
        top = top.parent
    return top is root
