"""From what DuckDB raises to the exception that users expect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from relserve.errors import Cancelled, OptionError, RelserveError, UsageError
from relserve_duckdb.text.call_limits import LISTS, only_in_a_text
from relserve_duckdb.text.duckdb_errors import wrong_argument
from relserve_duckdb.text.quoted_errors import quoting_the_user
from relserve_duckdb.udf.connection_state import ConnectionState

# Of a macro's from_json; of a user's own the message goes on with the line where it stands.
_VARYING_TYPE = 'argument in function "from_json" must be a constant expression'


@contextmanager
def own_errors(state: ConnectionState) -> Iterator[None]:
    """Run DuckDB calls inside: errors of ours come out as themselves.

    Raises:
        duckdb.InterruptException: the statement was interrupted.
        RelserveError, KeyboardInterrupt: what a UDF raised, instead of DuckDB's text about it.
        duckdb.Error: quoting the user's text, where another one stands in for it.
    """
    try:
        yield
    except Cancelled as error:
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!") from error
    except duckdb.Error as error:
        ours = behind(error, state)
        if ours is None:
            told = _told(error, state)
            if told is None:
                raise
            raise told from error
        if isinstance(ours, Cancelled):
            raise duckdb.InterruptException("INTERRUPT Error: Interrupted!") from error
        raise ours from error
    finally:
        state.error = None  # its traceback holds the connection, which holds the state through DuckDB


def _told(error: duckdb.Error, state: ConnectionState) -> Exception | None:
    """What to tell instead of DuckDB's error about a text of ours; None where that says it well."""
    message = str(error)
    for function in LISTS:
        if f'Function "{function}" is a Macro Function' in message:
            return UsageError(only_in_a_text(function))
    if wrong := wrong_argument(message):
        return wrong
    if message.endswith(_VARYING_TYPE):
        return OptionError(
            "the schema of llm_extract() and the questions of llm_decide() tell the type of the answers, so "
            "no column can give them; write them out, or give them as a parameter"
        )
    told = [quoting_the_user(message, text) for text in state.stand_ins]
    return next((type(error)(each) for each in told if each != message), None)


def behind(error: Exception, state: ConnectionState) -> BaseException | None:
    """The exception that a UDF raised, if it is what failed DuckDB's statement."""
    ours = state.error
    if ours is None or "Python exception" not in str(error):
        return None
    return ours if isinstance(ours, (RelserveError, KeyboardInterrupt)) else None
