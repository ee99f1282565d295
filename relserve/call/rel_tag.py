"""What a scheduler is told of a relQuery: the tag that travels with each of its requests."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from relserve.call.slo import Slo

logger = logging.getLogger(__name__)

MOST = 10**7  # rows or tokens that a client is believed to speak of
MOST_DISPATCHES = 2**53  # as many as JSON can count
MAX_KIND = 64  # characters of a kind or a stage, which schedulers remember
TTFT_SLO, TPOT_SLO = "rel_ttft_slo_s", "rel_tpot_slo_s"  # arguments of requests that name no relQuery, too
FORMER_TPOT_SLO = "rel_tbt_slo_s"  # what TPOT_SLO was called before, which clients may still send
BACKGROUND = "rel_background"  # 1 for what nobody waits for
SHARES = "rel_shares"  # 1 where probabilities of tokens may be those among the tokens that are asked about
DISPATCH = "rel_dispatch"  # like TTFT_SLO


def asked_slos(args: Mapping[str, Any]) -> tuple[Any, Any]:
    """A request's limits on TTFT and TPOT as its arguments have them, unchecked; None for none."""
    return args.get(TTFT_SLO), args.get(TPOT_SLO, args.get(FORMER_TPOT_SLO))


class WorkflowStep(NamedTuple):
    """A relQuery's place in a workflow, and its deadline; see `RelTag`.

    At its deadline a row without an answer fails with FailureKind.DEADLINE, and its request is aborted.

    Attributes:
        ends_s: the deadline on this process's monotonic clock, which nobody sets forwards or back.
    """

    workflow_id: str | None
    stage: str | None
    ends_s: float | None = None

    @property
    def deadline_s(self) -> float | None:
        """The deadline by the wall clock as it goes now, for other processes."""
        return None if self.ends_s is None else time.time() + self.ends_s - time.monotonic()


class RelTag(NamedTuple):
    """The identity of a request's relQuery, and what is known of the whole relQuery.

    Attributes:
        rel_id: of the relQuery, the same in all of its rounds.
        rows: rows (distinct prompts) that the relQuery will have in all, as far as known.
        output_cap: the most tokens that one row may answer.
        workflow_id: of the workflow that the relQuery is a step of; None for a relQuery of its own.
        stage: the name of that step.
        deadline_s: when the answers are of no more use, in seconds of the wall clock (`time.time()`), for
            the scheduler may be in another process or on another machine; None: never.
        kind: the answers of relQueries of one kind have lengths of one distribution; None: of no known kind.
        likely: the most tokens that an answer has as far as its type tells; None where it does not tell.
        is_named: whether the request names the relQuery; else its client knows of none. It does not travel.
        slo: limits of each row's tokens; None: none. What travels is read of each request by itself.
        dispatch: the number under which a fleet's owner sent it to this engine, from 0; None: it did not.
        is_background: nobody waits for it, and every other relQuery goes first.
    """

    rel_id: str
    rows: int
    output_cap: int
    workflow_id: str | None = None
    stage: str | None = None
    deadline_s: float | None = None
    kind: str | None = None
    likely: int | None = None
    is_named: bool = True
    slo: Slo | None = None
    dispatch: int | None = None
    is_background: bool = False

    def args(self) -> dict[str, str | int | float]:
        """The tag as vLLM carries it: `extra_args` of a request in process, `vllm_xargs` of an HTTP body.

        vLLM's server hands the latter on as the former.
        """
        fields: dict[str, str | int | float | None] = {
            "rel_id": _plain(self.rel_id),
            "rel_rows": self.rows,
            "rel_ol": self.output_cap,
            "rel_workflow": _plain(self.workflow_id),
            "rel_stage": _plain(self.stage),
            "rel_deadline_s": self.deadline_s,
            "rel_kind": _plain(self.kind),
            "rel_likely": self.likely,
            TTFT_SLO: None if self.slo is None else self.slo.ttft_s,
            TPOT_SLO: None if self.slo is None else self.slo.tpot_s,
            DISPATCH: self.dispatch,
            BACKGROUND: 1 if self.is_background else None,
        }
        return {name: value for name, value in fields.items() if value is not None}


def read_tag(args: Any, max_tokens: int | None) -> RelTag | None:
    """The tag in a request's `extra_args`; None where they name no relQuery.

    What a stranger wrote there is taken where it makes sense and left where not; a number above `MOST` counts
    as that, and is logged once.

    Args:
        max_tokens: of the request; no row answers more. None or nonsense counts as 1.
    """
    if not isinstance(args, Mapping):
        return None
    rel_id = _name(args.get("rel_id"))
    if rel_id is None:
        return None
    cap = cap_of(max_tokens)
    likely = _positive(args, "rel_likely")
    return RelTag(
        rel_id,
        _positive(args, "rel_rows") or 1,
        min(cap, _positive(args, "rel_ol") or cap),
        _name(args.get("rel_workflow")),
        _kept(args.get("rel_stage")),
        _time(args.get("rel_deadline_s")),
        _kept(args.get("rel_kind")),
        None if likely is None else min(cap, likely),
        is_background=args.get(BACKGROUND) == 1,
    )


def dispatch_of(args: Any) -> int | None:
    """The number of a fleet's dispatch in a request's `extra_args`; None where there is none."""
    number = args.get(DISPATCH) if isinstance(args, Mapping) else None
    if isinstance(number, float) and number.is_integer():  # as JSON may have made it
        number = int(number)
    is_number = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < MOST_DISPATCHES
    return number if is_number else None


def cap_of(max_tokens: int | None) -> int:
    """The most tokens that a request may answer: at least 1, whatever its sampling parameters say."""
    return max_tokens if max_tokens is not None and max_tokens > 0 else 1


def _plain(text: str | None) -> Any:
    """The text without lone surrogates, which neither JSON nor vLLM's messages can carry."""
    return None if text is None else text.encode(errors="replace").decode()


def _name(value: Any) -> str | None:
    """An id, also where a client wrote a number; else None."""
    return str(value) if isinstance(value, (str, int)) and value != "" else None


def _kept(value: Any) -> str | None:
    """A name that schedulers remember; None for one that is too long for that."""
    name = _name(value)
    return name if name is None or len(name) <= MAX_KIND else None


def _positive(args: Mapping[Any, Any], name: str) -> int | None:
    """A whole number from 1 to `MOST`, also where JSON made it a float or a client a string; else None."""
    value: Any = args.get(name)
    if isinstance(value, bool):
        return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if number > MOST:
        _log_absurd(name)
    return min(number, MOST) if number > 0 else None


@lru_cache(maxsize=8)  # once for each name
def _log_absurd(name: str) -> None:
    logger.warning(
        "a client says %s of more than %s; that counts as so many, here and later", name, f"{MOST:,}"
    )


def _time(value: Any) -> float | None:
    """Seconds of the wall clock; None for what is no finite number."""
    if value is None or isinstance(value, bool):
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) else None
