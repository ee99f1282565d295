"""Recorded replies: a scripted engine that answers by stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import Failure
from relserve.session.session import Session
from relserve.text2sql.prompts.texts import METHODS, method_text

Told = str | Failure | Callable[[str], str | Failure]


def engine_of(replies: Mapping[str, Told], **options: object) -> ScriptedEngine:
    """An engine that answers prompts by `stage`, or by `stage/method` for candidates of a method."""

    def script(prompt: str, submission: Submission) -> str | Failure:
        stage = str(submission.stage)
        told = replies.get(f"{stage}/{method_of(prompt)}", replies.get(stage, "nothing was recorded"))
        return told(prompt) if callable(told) else told

    return ScriptedEngine(script, **options)  # type: ignore[arg-type]


def session_of(engine: ScriptedEngine) -> Session:
    return Session(lambda model: engine)


def method_of(prompt: str) -> str | None:
    """The method of a candidate's prompt."""
    return next((method for method in METHODS if prompt.endswith(method_text(method))), None)


def fenced(sql: str) -> str:
    """SQL as models are asked to give it."""
    return f"```sql\n{sql}\n```"
