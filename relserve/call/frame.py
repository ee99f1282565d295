"""What of a prompt is the question, and what the state that it is about."""

from __future__ import annotations

from typing import NamedTuple

from relserve.call.template import Template

SENTENCE_ENDS = ("?", ".", "!", ":")


class Frame(NamedTuple):
    """The texts of a call that stand around the state of each of its prompts.

    Attributes:
        before: the text before the state; "": what stands there is a part of it.
        after: texts of which one may end a prompt.
    """

    before: str = ""
    after: tuple[str, ...] = ()

    def apart(self, prompt: str) -> tuple[str, str]:
        """The question and the state of a prompt; the question is "" where the prompt has not these texts."""
        head, before, state = prompt.partition(self.before) if self.before else ("", "", prompt)
        if self.before and not before:
            head, state = "", prompt
        after = next((text for text in self.after if text and state.endswith(text)), "")
        question = filter(None, (f"{head}{before}".strip(), after.strip()))
        return "\n".join(question), state.removesuffix(after).strip()

    def then(self, texts: tuple[str, ...]) -> Frame:
        """The frame of the same prompts with one of these texts after each."""
        return Frame(self.before, tuple(end + text for end in (*self.after, "") for text in texts))


def frame_of(template: Template) -> Frame:
    """The frame of a template's prompts.

    The text before the values is the question where it ends a sentence, or where one value ends the prompt.
    The text after them is a part of it where it is a line of its own, or where one value begins the prompt.
    With any other text after them, all of the prompt is the state.
    """
    if not template.fields:
        return Frame()
    before, *between, after = template.literals
    starts_line = after.startswith("\n") or not (before.strip() or between)
    if after.strip() and not starts_line:
        return Frame()
    ends_sentence = before.rstrip().endswith(SENTENCE_ENDS) or not (after.strip() or between)
    return Frame(before if before.strip() and ends_sentence else "", (after,) if after.strip() else ())
