"""The functions that users call: one of each kind for every llm function there is."""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, Protocol, TypeVar, cast

import pyarrow as pa

from relserve.call.option_specs import OPTIONS
from relserve.call.options import FUNCTIONS, parse_options
from relserve.engines.daemon_thread import in_daemon_thread
from relserve.engines.protocol import Engine
from relserve.errors import OptionError, UsageError
from relserve.frames.call import HISTORY, Call, warn
from relserve.frames.dispatch import answer
from relserve.settings import load

_OWN = {
    "columns": "names of the columns that the placeholders take, in order (the placeholders' names)",
    "name": "name of the column of answers (the function's)",
    "engine": "an engine object to use instead of looking a model up",
    "progress": "show a progress bar; None shows it on terminals and in notebooks",
    "cache": "False asks all prompts anew and keeps no answers",
}
T = TypeVar("T")


class FrameFunction(Protocol):
    """`relserve.llm` and its siblings: a column of answers, aligned with the rows of `data`."""

    def __call__(
        self,
        data: Any,
        template: Any,  # in its place the questions of llm_decide
        *,
        columns: Iterable[Any] | None = None,
        name: str | None = None,
        engine: Engine | None = None,
        progress: bool | None = None,
        cache: bool | None = None,
        **options: Any,
    ) -> Any: ...


def synchronous(function: str) -> FrameFunction:
    """relserve.llm and so on."""

    def run(data: Any, *placed: Any, **given: Any) -> Any:
        value, told = answer(_call_by_place(function, data, placed, given))
        warn(told, stacklevel=2)
        return value

    return _dressed(run, function, function)


def asynchronous(function: str) -> FrameFunction:
    """relserve.allm and so on: the same in a thread, to be awaited."""

    async def run(data: Any, *placed: Any, **given: Any) -> Any:
        call = _call_by_place(function, data, placed, given)
        value, told = await _in_thread(lambda cancel: answer(call, cancel))
        warn(told, stacklevel=2)
        return value

    return _dressed(run, function, f"a{function}")


def llm_queries() -> pa.Table:
    """One row a relQuery of this process's dataframe calls, as llm_queries() has them in SQL."""
    return HISTORY.queries_table()


def llm_errors() -> pa.Table:
    """One row a failed prompt of this process's dataframe calls, as llm_errors() has them in SQL."""
    return HISTORY.errors_table()


def _call_by_place(function: str, data: Any, placed: Sequence[Any], given: Mapping[str, Any]) -> Call:
    """The call whose template, or options, come by position."""
    own, names = FUNCTIONS[function].template, _placed_names(function)
    if len(placed) > len(names):
        raise TypeError(f"{function}() takes {1 + len(names)} arguments by position, not {1 + len(placed)}")
    named = {**given, **dict(zip(names, placed, strict=False))}
    if not own and "template" not in named:
        raise TypeError(f"{function}() misses its template: what to ask, with a {{placeholder}} for a column")
    return call_of(function, data, own or named.pop("template"), named)


def _placed_names(function: str) -> tuple[str, ...]:
    """What may come by position after the data."""
    spec = FUNCTIONS[function]
    return spec.positional if spec.template else ("template",)


def call_of(function: str, data: Any, template: str, given: Mapping[str, Any]) -> Call:
    """The call, its options checked.

    Raises:
        OptionError: see `parse_options`.
        UsageError: an engine and a model.
    """
    own: dict[str, Any] = {name: given.get(name) for name in _OWN}
    options = {k: _plain(v) for k, v in given.items() if k not in _OWN and v is not None}
    known = _options_of(function)
    for option in options:
        if option == "field_order":
            raise OptionError("field_order has no meaning for a frame: its nested values are read as text")
        near = get_close_matches(option, [*_OWN, *known], 1)
        if option not in known and near and near[0] in _OWN:
            raise OptionError(f"{function}() has no option {option!r}. Did you mean {near[0]}?")
    checked = parse_options(function, options)
    if own["engine"] is not None and checked.model is not None:
        raise UsageError("give engine= or model=, not both: an engine answers with its own model")
    name = own.pop("name") or function
    if own["columns"] is not None and not isinstance(own["columns"], str):
        own["columns"] = list(own["columns"])  # read more than once: a generator would be used up
    own["cache"] = own["cache"] is not False
    return Call(
        function, data, template, name=str(name), given=options, options=checked, settings=load(), **own
    )  # fmt: skip


def _options_of(function: str) -> list[str]:
    """The options that mean something for a frame."""
    return [option for option in FUNCTIONS[function].options if option != "field_order"]


def _plain(value: Any) -> Any:
    """An option's value without NumPy, pandas, polars or Arrow around it: choices=df['label'].unique()."""
    for method in ("to_pylist", "tolist", "to_list"):
        if callable(turn := getattr(value, method, None)):
            return turn()
    return value


def _dressed(run: Callable[..., Any], function: str, name: str) -> FrameFunction:
    """The function with the name, signature and help that a user looks up."""
    placed = _placed_names(function)
    keywords = {"model": None, **dict.fromkeys(each for each in _options_of(function) if each not in placed)}
    first = [inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in ("data", *placed)]
    named = [
        inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=None) for each in (*_OWN, *keywords)
    ]
    dressed: Any = run
    dressed.__name__ = dressed.__qualname__ = name
    dressed.__module__ = "relserve"
    dressed.__signature__ = inspect.Signature([*first, *named])
    dressed.__doc__ = _help(function)
    return cast(FrameFunction, run)


def _help(function: str) -> str:
    lines = [*_OWN.items(), *((name, OPTIONS[name].help) for name in _options_of(function))]
    if not FUNCTIONS[function].template:
        asked = "what to ask, e.g. 'Rate {review} of {product}'; the placeholders name columns"
        lines.insert(0, ("template", asked))
    listed = "\n".join(f"    {name}: {text}." for name, text in lines)
    return f"""{function}() for the rows of a frame: a column of answers, aligned with the rows.

A failed row is NULL, is counted in a RowsFailedWarning and listed by relserve.llm_errors(). A missing value
gives NULL without a call. Equal rows are asked once.

Args:
    data: pandas or polars frame or series, pyarrow table or array. A polars LazyFrame or a DuckDB relation
        comes back with the answers as one more column.
{listed}

Raises:
    UsageError: the call is wrong (TemplateError, OptionError: its template, an option).
    ModelError, EngineError: no such model; the engine could not do its work.
    RowError: a row failed and on_error is 'raise'.
"""


async def _in_thread(work: Callable[[threading.Event], T]) -> T:
    """What `work` gives, without blocking the loop.

    Not in asyncio's own pool: that has few threads, and calls that wait for each other's rows would keep
    others from being scheduled in the engine.

    Args:
        work: given an event that is set when nobody waits for the result any more.
    """
    cancel = threading.Event()
    context = contextvars.copy_context()
    try:
        return await in_daemon_thread(partial(context.run, work, cancel))
    except BaseException:  # not on success: a lazy frame keeps the event for when it is collected
        cancel.set()
        raise
