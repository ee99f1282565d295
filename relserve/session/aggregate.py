"""llm_agg: answering about the values of a group, in parts where they exceed one prompt.

Map and reduce: the values of a group go into prompts as numbered lists, as many as fit; the answers about a
group's parts are asked about in the same way until one is left. All groups of a call, and all rounds, are one
relQuery.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relserve.call.answer_types import Answer
from relserve.call.relquery import RelQuery
from relserve.errors import FailureKind
from relserve.session.in_rounds import RelQueryInRounds
from relserve.session.progress import Progress
from relserve.session.result import Result

LINE_CHARS = 8  # about what a value's number and line break take


def numbered(texts: Iterable[str]) -> str:
    """The values of a group as they stand in a prompt: a line each, numbered from 1."""
    return "".join(f"\n{i}. {text}" for i, text in enumerate(texts, 1))


def split(texts: Sequence[str], max_chars: int, at_least: int = 1) -> list[Sequence[str]]:
    """Texts in order, cut into parts of at most `max_chars` characters, but of at least `at_least` texts."""
    parts: list[list[str]] = [[]]
    num_chars = 0
    for text in texts:
        size = len(text) + LINE_CHARS
        if len(parts[-1]) >= at_least and num_chars + size > max_chars:
            parts.append([])
            num_chars = 0
        parts[-1].append(text)
        num_chars += size
    return list(parts)


def answer_groups(relquery: RelQuery, opened: RelQueryInRounds, progress: Progress | None = None) -> Result:
    """Answer about groups.

    On record, the relQuery's rows are the parts of the groups' values, each for as many table rows as its
    group stands for; the rounds that combine answers add prompts and tokens, but no rows.

    Args:
        relquery: its rows hold one sequence of texts each, or None for a group without values.
        opened: asks the rounds; its rows hold one text each.
        progress: see `OpenRelQuery.ask`.

    Returns:
        One answer a group; the group of a part that failed has that part's failure.

    Raises: as `OpenRelQuery.ask`.
    """
    max_chars = relquery.options.max_chars
    weights = relquery.multiplicity or [1] * len(relquery.rows)
    groups = [
        None if texts is None else _Group(split(texts, max_chars), weight)
        for (texts,), weight in zip(relquery.rows, weights, strict=True)
    ]
    filled = [group for group in groups if group is not None]
    num_null = sum(weights) - sum(group.weight for group in filled)
    while todo := [(group, part) for group in filled for part in group.unanswered]:
        _ask(opened, todo, num_null, progress)
        num_null = 0  # counted once
        for group in filled:
            group.go_on(max_chars)
    return Result([Answer(None) if group is None else group.answer for group in groups])


@dataclass(eq=False)
class _Part:
    """Values that go into one prompt, and the answer about them."""

    texts: Sequence[str]
    answer: Answer | None = None


class _Group:
    """A group on its way to one answer.

    Attributes:
        weight: rows of the result that it stands for.
        num_new_rows: rows that its unanswered parts add to the record.
    """

    def __init__(self, parts: list[Sequence[str]], weight: int) -> None:
        self.weight = weight
        self.parts = [_Part(texts) for texts in parts]
        self.num_new_rows = weight * len(parts)
        self.of_answers = False  # the values are answers of an earlier round
        self.failed: Answer | None = None

    @property
    def unanswered(self) -> list[_Part]:
        return [] if self.failed else [part for part in self.parts if part.answer is None]

    @property
    def answer(self) -> Answer:
        """The group's answer, once nothing is unanswered."""
        return self.failed or self.parts[0].answer or Answer(None)

    def may_split(self, part: _Part) -> bool:
        """Whether a part that is too long is asked in halves; two answers have to become one."""
        return len(part.texts) > (2 if self.of_answers else 1)

    def go_on(self, max_chars: int) -> None:
        """Look at the answers of a round: split what was too long, combine when all parts are answered."""
        parts: list[_Part] = []
        self.num_new_rows = 0
        for part in self.parts:
            failure = part.answer.failure if part.answer else None
            if failure is None:
                parts.append(part)
            elif failure.kind is FailureKind.OVER_CONTEXT and self.may_split(part):
                half = len(part.texts) // 2
                parts += self._parts([part.texts[:half], part.texts[half:]])
                self.num_new_rows += 0 if self.of_answers else self.weight
            else:
                self.failed = part.answer
                return
        answers = [part.answer.value for part in parts if part.answer is not None]
        if len(parts) > 1 and len(answers) == len(parts):
            self.of_answers = True
            parts = self._parts(split(answers, max_chars, at_least=2))
        self.parts = parts

    def _parts(self, texts: Sequence[Sequence[str]]) -> list[_Part]:
        """Parts to be asked; one answer alone stands for itself."""
        alone = [Answer(each[0]) if self.of_answers and len(each) == 1 else None for each in texts]
        return [_Part(each, answer) for each, answer in zip(texts, alone, strict=True)]


def _ask(
    opened: RelQueryInRounds, todo: Sequence[tuple[_Group, _Part]], num_null: int, progress: Progress | None
) -> None:
    """One round. The prompts that will combine the answers of groups in parts are announced already."""
    rows: list[tuple[str | None]] = [(numbered(part.texts),) for _, part in todo]
    weights = [group.weight for group, _ in todo]
    splits = [group.may_split(part) for group, part in todo]
    if num_null:
        rows, weights, splits = [*rows, (None,)], [*weights, num_null], [*splits, False]
    groups = {group for group, _ in todo}
    num_to_combine = sum(len(group.parts) > 1 for group in groups)
    answers = opened.ask(
        rows, weights, may_split=splits, progress=progress,
        announced=opened.record.num_distinct + len(set(rows) - {(None,)}) + num_to_combine,
        num_new_rows=num_null + sum(group.num_new_rows for group in groups),
    )  # fmt: skip
    for (_, part), answer in zip(todo, answers, strict=False):  # the row of NULLs is the last
        part.answer = answer
