"""Asking a statement's rows at once: rehearse it to learn what its calls will ask, ask, then run it.

A rehearsal runs the statement's SELECT with calls that note their inputs and say NULL, and throws its result
away. So DuckDB itself decides which rows reach a call: cheap predicates, LIMIT, CASE and joins are obeyed.
Calls behind another call's answer show up in the next rehearsal, when that answer is known. Whatever a
rehearsal gets wrong costs time, never an answer: the user's own text runs afterwards, unchanged, and asks
what is still missing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from relserve.errors import Cancelled, RelserveError
from relserve_duckdb.memo import Wanted
from relserve_duckdb.plans import stops_early
from relserve_duckdb.scope import Scope

log = logging.getLogger(__name__)

MAX_REHEARSALS = 8  # deeper chains of calls, such as recursive CTEs, ask the rest while they run


@dataclass(frozen=True)
class Play:
    """Something to rehearse.

    Attributes:
        plan: gives DuckDB's plan as JSON text; runs nothing.
        batches: runs the SELECT and gives its result piece by piece.
        independent: known to be such that no call's inputs hang on another call's answers.
    """

    plan: Callable[[], str]
    batches: Callable[[], Iterable[Any]]
    independent: bool


def prefetch(scope: Scope, play: Play) -> None:
    """Ask what `play` will ask, a relQuery a call site.

    Raises:
        RelserveError: the call is wrong, the engine failed, or a row failed under on_error := 'raise'.
        duckdb.InterruptException: the user interrupted.
    """
    try:
        with scope.planning():
            plan = play.plan()
        if stops_early(plan):
            log.debug("no prefetch: a LIMIT over an llm filter may stop early")
            return
        for _ in range(MAX_REHEARSALS):
            found = _rehearse(scope, play)
            if not found:
                return
            first_only = len(found) > 1 and not play.independent
            for wanted in found[:1] if first_only else found:
                scope.remember(wanted)
            if play.independent:
                return
    except duckdb.InterruptException:
        raise
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        # Arrow streams wrap DuckDB's errors; one about a BLOB may hold bytes that are no text
        if isinstance(scope.error, RelserveError) and not isinstance(scope.error, Cancelled):
            raise scope.error from error
        scope.check_cancel()
        log.debug("no prefetch: %s", error)


def _rehearse(scope: Scope, play: Play) -> list[Wanted]:
    """What the calls ask beyond the known answers, sites in the order of their first call.

    Only the first site's inputs are sure: it was called before any call had said NULL.
    """
    with scope.collecting() as collector:
        for _ in play.batches():
            scope.check_cancel()
    found = [tally.wanted(scope.memo.known(site)) for site, tally in collector.tallies.items()]
    return [wanted for wanted in found if wanted is not None]
