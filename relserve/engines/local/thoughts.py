"""How a model writes its thoughts: whether its chat template has any, and the marks around them."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

log = logging.getLogger(__name__)

SWITCHES = ("enable_thinking", "thinking", "reasoning_effort")  # variables of templates


class Marks(NamedTuple):
    """The marks around the thoughts of a family of models.

    Attributes:
        opening, end: where thoughts begin and end.
        lead: between `opening` and the first thought.
        tail: between the last thought and `end`.
        answer: between `end` and the answer.
        straight: what leads to an answer without thoughts where the template says nothing to that effect.
    """

    opening: str
    end: str
    lead: str = "\n"
    tail: str = "\n"
    answer: str = "\n\n"
    straight: str = ""

    @property
    def closing(self) -> str:
        """What ends thoughts that the model has not ended."""
        return self.tail + self.end + self.answer

    def thinking(self, prompt: str) -> str:
        """A rendered prompt that ends where the first thought begins; some templates open the thoughts."""
        return prompt if self.opens(prompt) else prompt + self.opening + self.lead

    def answering(self, prompt: str) -> str:
        """A rendered prompt that ends where an answer without thoughts begins."""
        return prompt + (self.closing if self.opens(prompt) else self.straight)

    def opens(self, prompt: str) -> bool:
        """Whether a rendered prompt ends among thoughts."""
        return prompt.rstrip().endswith(self.opening)


HARMONY = Marks(
    "<|channel|>analysis<|message|>", "<|end|>", "", "",
    "<|start|>assistant<|channel|>final<|message|>", "<|channel|>final<|message|>",
)  # fmt: skip
PLAIN = (
    Marks("<think>", "</think>"),  # Qwen, DeepSeek, GLM, Nemotron, SmolLM, MiniMax and most others
    Marks("[THINK]", "[/THINK]", "", "", ""),  # Mistral
    Marks("<seed:think>", "</seed:think>"),
)


def marks_of(tokenizer: Any) -> Marks | None:
    """The marks of a tokenizer's model, looked for in its template and then in its vocabulary."""
    template = template_of(tokenizer)
    if "<|channel|>" in template and "analysis" in template:
        return HARMONY
    named = next((marks for marks in PLAIN if marks.opening in template or marks.end in template), None)
    return named or next((marks for marks in PLAIN if _is_token(tokenizer, marks.end)), None)


def switches_of(template: str) -> set[str]:
    """Those of `SWITCHES` that a chat template reads; none where it is no template."""
    import jinja2
    from jinja2 import ext, meta, nodes, parser

    class Generation(ext.Extension):
        """The block with which templates for training mark what a model is to write."""

        tags = {"generation"}  # noqa: RUF012 - as the class above has it

        def parse(self, parser: parser.Parser) -> list[nodes.Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    try:
        tree = jinja2.Environment(extensions=[Generation, ext.loopcontrols]).parse(template)
    except jinja2.TemplateError as error:
        log.debug("no chat template: %s", error)
        return set()
    return meta.find_undeclared_variables(tree).intersection(SWITCHES)


def template_of(tokenizer: Any) -> str:
    """Its chat template, "" for none; of several by name the one for chats."""
    template = getattr(tokenizer, "chat_template", None) or ""
    return template if isinstance(template, str) else str(dict(template).get("default", ""))


def _is_token(tokenizer: Any, text: str) -> bool:
    added = getattr(tokenizer, "get_added_vocab", None)
    return added is not None and text in added()
