"""What a model makes of empty inputs: read once a relQuery, and taken out of its rows' probabilities."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from relserve.cache.cache import AnswerCache
from relserve.call.decisions import Decision
from relserve.call.phases import phases_of
from relserve.call.place_bias import EMPTY
from relserve.call.rel_tag import WorkflowStep
from relserve.call.relquery import CallSite, Reply, Submission, Usage
from relserve.engines.protocol import Engine
from relserve.errors import Failure
from relserve.session.cached_answers import CachedAnswers
from relserve.session.pending_replies import PendingReplies
from relserve.session.recorder import Recorder
from relserve.session.reordered import engine_for
from relserve.session.reply_reader import Probabilities, probabilities_of


class EmptyPrior:
    """The prior of one relQuery's call, if the call wants one; safe for several threads."""

    def __init__(
        self, site: CallSite, recorder: Recorder, cancel: threading.Event, capped: Callable[[Engine], Engine]
    ) -> None:
        self._site, self._recorder, self._cancel, self._capped = site, recorder, cancel, capped
        self._lock = threading.Lock()
        self._found: Probabilities | None = None

    def find(
        self,
        engine: Engine,
        cache: AnswerCache | None,
        submission: Submission,
        step: WorkflowStep | None,
        rows_to_send: Callable[[int], int],
    ) -> Probabilities | None:
        """The prior, or why there is none: from the answer cache, or asked by whoever wants it first.

        Its tokens count as the relQuery's, its prompts do not. None where nothing is to be taken out.

        Args:
            submission: of rows, as the call asks about them.
            rows_to_send: how many rows the engine will have been given after so many more.

        Raises: as `OpenRelQuery.ask`, of the engine; a prompt that fails alone is a Failure.
        """
        kind, empty = self._site.answer_type, of_empty(submission, self._site)
        if not (submission.prompts and empty.prompts and isinstance(kind, Decision)):
            return None
        with self._lock:
            if self._found is None:
                cached = CachedAnswers(cache, engine, empty, None if step is None else step.ends_s)
                replies = self._replies(engine, empty, cached, step, rows_to_send)
                self._found = _prior_of(kind, engine.model, replies)
            return self._found

    def _replies(
        self,
        engine: Engine,
        empty: Submission,
        cached: CachedAnswers,
        step: WorkflowStep | None,
        rows_to_send: Callable[[int], int],
    ) -> list[Reply]:
        replies = cached.find(self._cancel)
        known = {reply.index for reply in replies}
        todo = [index for index in range(len(empty.prompts)) if index not in known]
        if not todo:
            return replies
        asked = empty.part(todo, rows_to_send(len(todo)))
        asked = asked if step is None else asked.as_step(step)
        ends_s = None if step is None else step.ends_s
        capped = engine_for(self._capped(engine), asked)
        pending = PendingReplies(capped, asked, ends_s, self._recorder.stands)
        came = pending.result(self._cancel)
        cached.confirm(self._cancel)
        good = [each for each in came if not isinstance(probabilities_of(each, engine.model), Failure)]
        cached.keep((todo[reply.index], reply) for reply in good)
        usage = Usage.total(reply.usage for reply in came)
        self._recorder.add_replies(0, 0, 0, usage)
        self._recorder.spent(came, 0, 0)
        self._recorder.add_phases(phases_of([reply.times for reply in came if reply.times is not None]))
        return [*replies, *came]


def of_empty(submission: Submission, site: CallSite) -> Submission:
    """What asks about empty inputs as a submission of the call asks about its rows; nothing without `prior`.

    A template without placeholders has one such prompt, that of its rows.
    """
    prompts: list[str | None] = []
    if site.options.prior == "empty":
        width = max(site.binding.used, default=-1) + 1
        prompts = site.prompts([[text] * width for text in EMPTY])
    distinct = dict.fromkeys(prompt for prompt in prompts if prompt is not None)
    return replace(submission, prompts=list(distinct), rows=None, grammars=None)


def _prior_of(kind: Decision, model: str, replies: list[Reply]) -> Probabilities:
    found = []
    for reply in replies:
        read = probabilities_of(reply, model)
        if isinstance(read, Failure):
            return read._replace(message=f"{read.message} (asked about an empty input, for prior)")
        found.append(read)
    return kind.prior_of(found)
