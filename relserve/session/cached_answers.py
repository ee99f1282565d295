"""What one relQuery has in the answer cache: found before it asks, kept as its replies come."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Coroutine, Iterable
from concurrent.futures import wait
from typing import Any, TypeVar

from relserve.cache.cache import AnswerCache
from relserve.cache.store import CacheEntry
from relserve.call.relquery import Reply, Submission, Usage
from relserve.call.reply_keys import keys_of
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine
from relserve.errors import Cancelled, RelserveError
from relserve.session.reordered import each_asked

logger = logging.getLogger(__name__)

POLL_S = 0.05  # how often a wait looks at its cancel event
T = TypeVar("T")
LEAST_S = 0.2  # that an engine has to tell its model, so that a deadline that has passed leaves kept answers


class CachedAnswers:
    """A submission's way to the cache; without a cache, or with random sampling, it finds and keeps nothing.

    Args:
        cache: None: off.
        engine: tells its model's fingerprint; None of it means that its answers are not to be kept.
        ends_s: when the answers are of no more use, on the monotonic clock; an engine that has not told its
            fingerprint by then is not waited for, and nothing is found or kept. None: any time.
    """

    def __init__(
        self, cache: AnswerCache | None, engine: Engine, submission: Submission, ends_s: float | None = None
    ) -> None:
        self._cache = cache if submission.sampling.temperature == 0 else None
        self._engine, self._submission, self._ends_s = engine, submission, ends_s
        self._fingerprint: str | None = None
        self._keys: list[bytes] = []
        self._confirmed = False  # whether the engine that answers has told its fingerprint

    @property
    def keeps(self) -> bool:
        """Whether replies are kept."""
        return self._cache is not None and self._confirmed and self._fingerprint is not None

    @property
    def has_probabilities(self) -> bool:
        """Whether replies are kept with the probabilities of their choices."""
        return self._submission.sampling.read is not None

    def find(self, cancel: threading.Event) -> list[Reply]:
        """The kept replies, by the prompts' positions.

        Raises:
            Cancelled: `cancel` was set while the engine was asked which model it has.
            RelserveError: the engine is not to be had, as `Engine.answer` would say.
        """
        # No usage: nothing was computed for it this time.
        return [reply_of(i, text, self._submission) for i, text in zip(*self.find_texts(cancel), strict=True)]

    def find_texts(self, cancel: threading.Event) -> tuple[list[int], list[str]]:
        """The positions of the prompts with a kept reply, and these as `kept_text` wrote them.

        Raises: as `find`.
        """
        found = self._kept(cancel, uses=True)
        if not found:
            return [], []
        texts = list(map(found.get, self._keys))
        numbers = [i for i, text in enumerate(texts) if text is not None]
        return numbers, [text for text in texts if text is not None]

    def known(self, cancel: threading.Event) -> set[int] | None:
        """Which of the prompts have a kept reply, without using any; None where no answers are kept.

        Raises: as `find`.
        """
        found = self._kept(cancel, uses=False)
        return None if found is None else {i for i, key in enumerate(self._keys) if key in found}

    def confirm(self, cancel: threading.Event) -> None:
        """Look again which model it is, once the first replies are there; further calls do nothing.

        Before, a folder may have changed, or the hub's copy was yet to be fetched.

        Raises:
            Cancelled: `cancel` was set meanwhile.
        """
        if self._cache is None or self._confirmed:
            return
        try:
            self._identify(cancel)
        except Cancelled:
            raise
        except RelserveError as error:
            logger.debug("answers are not kept: %s", error)
            self._fingerprint = None
        self._confirmed = True

    def keep(self, replies: Iterable[tuple[int, Reply]]) -> None:
        """Keep replies that were good, each with its prompt's position; to be confirmed before."""
        if self._cache is not None and self._confirmed and self._fingerprint is not None:
            model = (self._fingerprint, self._engine.model)
            made = [CacheEntry(self._keys[i], *model, kept_text(r), *_tokens(r.usage)) for i, r in replies]
            self._cache.keep(made)

    def _kept(self, cancel: threading.Event, uses: bool) -> dict[bytes, str] | None:
        """What the cache has of the prompts, by key; None where no answers are kept."""
        if self._cache is None:
            return None
        self._identify(cancel)
        _check(cancel)
        if self._fingerprint is None:
            return None
        found = self._cache.find(self._fingerprint, self._keys, uses, cancel)
        _check(cancel)  # set while another process held the file
        return found

    def _identify(self, cancel: threading.Event) -> None:
        fingerprint = ask_fingerprint(self._engine, cancel, self._ends_s)
        if fingerprint is not None and fingerprint != self._fingerprint:
            self._keys = keys_of(fingerprint, self._submission)
        self._fingerprint = fingerprint


def _check(cancel: threading.Event) -> None:
    if cancel.is_set():
        raise Cancelled("the query was interrupted before its requests were sent")


def kept_text(reply: Reply) -> str:
    """A reply as one text: with the probabilities of its choices, where it has them, in JSON."""
    if reply.probabilities is None:
        return reply.text or ""
    masses = () if reply.label_masses is None else (reply.label_masses,)
    return json.dumps([reply.text, reply.probabilities, *masses])


def reply_of(index: int, kept: str, submission: Submission) -> Reply:
    """The reply that `kept_text` wrote."""
    if submission.sampling.read is None:
        return Reply(index, kept)
    text, probabilities, *masses = json.loads(kept)
    return Reply(
        index, text, probabilities=tuple(probabilities), label_masses=tuple(masses[0]) if masses else None
    )


def ask_fingerprint(engine: Engine, cancel: threading.Event, ends_s: float | None) -> str | None:
    """An engine's fingerprint; None: it does not tell, or not in time.

    Raises:
        Cancelled: `cancel` was set meanwhile.
        RelserveError: the engine is not to be had, as `Engine.answer` would say.
    """
    return _asked(engine, engine.fingerprint(), cancel, ends_s)


def ask_counted(engine: Engine, submission: Submission, cancel: threading.Event) -> set[int]:
    """The prompts that are in a batch, or were, and that asking sends nothing for: caps counted them then.

    Raises: as `ask_fingerprint`.
    """
    find_counted = getattr(engine, "find_counted", None)
    if find_counted is None or submission.sampling.embeds:
        return set()
    num = len(submission.prompts)
    counted = set(range(num))
    for asked in each_asked(submission) if num else ():
        found = set(_asked(engine, find_counted(asked), cancel, None) or ())
        times = len(asked.prompts) // num
        counted = {i for i in counted if found.issuperset(range(i * times, (i + 1) * times))}
    return counted


def _asked(
    engine: Engine, asking: Coroutine[Any, Any, T], cancel: threading.Event, ends_s: float | None
) -> T | None:
    """What an engine tells before it is asked; see `ask_fingerprint`."""
    ends_s = math.inf if ends_s is None else max(ends_s, time.monotonic() + LEAST_S)
    try:
        future = spawn(asking)
        while not wait([future], min(POLL_S, max(ends_s - time.monotonic(), 0.0))).done:
            if cancel.is_set():
                if wait([future], LEAST_S).done and future.exception() is None:
                    break  # it was about to tell: what came is kept
                future.cancel()
                raise Cancelled("the query was interrupted before its requests were sent")
            if time.monotonic() >= ends_s:
                future.cancel()
                return None
        return future.result()
    except RelserveError:
        raise
    except Exception as error:  # a cache may not fail a query
        logger.debug("%s does not tell what it has: %s", engine.model, error)
        return None


def _tokens(usage: Usage) -> tuple[int, int]:
    return usage.prompt_tokens, usage.output_tokens
