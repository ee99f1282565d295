"""The prompts of the stages: each begins with the schema, so that all of them share that beginning."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from relserve.call.template import Template

METHODS = ("direct", "divide_and_conquer", "query_plan", "result_first", "word_by_word")
NOTHING = "(none)"


@cache
def template_of(stage: str) -> Template:
    """The template of a stage that has one prompt.

    Args:
        stage: 'keywords', 'schema_selection', 'candidates', 'revision', 'unit_tests' or 'evaluation'.
    """
    return Template.parse("".join(_text(part) for part in _PARTS[stage]).rstrip())


@cache
def naming_text() -> str:
    """The rule on names for replies under the grammar of a schema."""
    return _text("grammar").rstrip()


@cache
def method_text(method: str) -> str:
    """How candidates of a method are asked for; `method` is one of `METHODS`."""
    return _text(f"methods/{method}").rstrip()


_PARTS = {
    "keywords": ("head", "keywords"),
    "schema_selection": ("head", "schema_selection"),
    "candidates": ("head", "rules", "question", "method"),
    "revision": ("head", "rules", "question", "revision"),
    "unit_tests": ("head", "rules", "question", "unit_tests"),
    "evaluation": ("head", "rules", "question", "evaluation"),
}


def _text(part: str) -> str:
    return files(__package__).joinpath(f"{part}.txt").read_text(encoding="utf-8")
