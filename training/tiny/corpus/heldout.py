"""Held-out rows grouped by template, so that one SQL call can run over each group."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from training.tiny.corpus import labels, layouts, phrasings, questions, rows
from training.tiny.corpus.schemes import REVIEW_ROWS, SCHEMES, pick_choices
from training.tiny.corpus.tasks import FIELDS, SCALES, to_scale
from training.tiny.corpus.tickets import ticket_row

HELD_OUT_TASKS = ("sentiment", "yes_no", "category", "rating", "extraction", "summary")
_GROUP_ROWS = 20


@dataclass(frozen=True)
class EvalGroup:
    """Rows that share a template.

    `template` names one column as `{column}`; `columns` maps that name to the values; `expected` holds one
    answer per value. `choices` (typed call with choices) or `bounds` (score call, inclusive) constrain the
    answer; both empty means a plain `llm()` call. `seen_phrasing` is False if the instruction never stands
    in training.
    """

    task: str
    template: str
    columns: dict[str, tuple[str, ...]]
    choices: tuple[str, ...]
    bounds: tuple[int, int] | None
    expected: tuple[str, ...]
    seen_phrasing: bool

    @property
    def column(self) -> str:
        """The name of the one column."""
        return next(iter(self.columns))


@dataclass(frozen=True)
class _Call:
    template: str  # with `{data}`
    column: str
    choices: tuple[str, ...]
    bounds: tuple[int, int] | None
    draw: Callable[[], tuple[str, str]]  # value and expected answer


def _template(
    seen: tuple[str, ...], unseen: tuple[str, ...], column: str, rng: Random, is_unseen: bool, **slots: str
) -> str:
    text = rng.choice(unseen).replace("\\n", "\n") if is_unseen else rng.choice(seen)
    for name, value in slots.items():
        text = text.replace("{" + name + "}", value)
    return text if is_unseen else layouts.compose(text, column, rng)


def _sentiment(rng: Random, unseen: bool) -> _Call:
    make = rng.choice(REVIEW_ROWS)
    ordered = labels.case(rng.choice((labels.TWO, labels.TWO, labels.THREE))[rng.randrange(12)], rng)
    stars = (1, 2, 4, 5) if len(ordered) == 2 else (1, 2, 3, 3, 4, 5)

    def draw() -> tuple[str, str]:
        row = make(rng, True, rng.choice(stars))
        return row.columns["review"], labels.by_stars(ordered, row.stars or 3)

    template = _template(
        phrasings.SENTIMENT, phrasings.SENTIMENT_UNSEEN, "review", rng, unseen, noun="review"
    )
    return _Call(template, "review", tuple(rng.sample(ordered, len(ordered))), None, draw)


def _category(rng: Random, unseen: bool) -> _Call:
    scheme = rng.choice(tuple(SCHEMES))
    make, columns = SCHEMES[scheme].make, SCHEMES[scheme].columns
    column = rng.choice(columns)
    picks, _ = pick_choices(scheme, make(rng, True).labels[scheme], rng)
    known = SCHEMES[scheme].names.items()
    names = {spelling.lower(): label for label, others in known for spelling in (label, *others)}

    def draw() -> tuple[str, str]:
        while True:
            row = make(rng, True)
            answers = [pick for pick in picks if names[pick.lower()] == row.labels[scheme]]
            if answers:
                return row.columns[column], answers[0]

    seen, other = phrasings.CATEGORY[scheme], phrasings.CATEGORY_UNSEEN[scheme]
    template = _template(seen, other, column, rng, unseen, noun="ticket" if scheme == "matter" else "text")
    return _Call(template, column, picks, None, draw)


def _rating(rng: Random, unseen: bool) -> _Call:
    make, (lo, hi) = rng.choice(REVIEW_ROWS), rng.choice(SCALES)

    def draw() -> tuple[str, str]:
        row = make(rng, True, rng.randint(1, 5))
        return row.columns["review"], str(to_scale(row.stars or 3, lo, hi))

    slots = {"noun": "review", "lo": str(lo), "hi": str(hi)}
    template = _template(phrasings.RATING, phrasings.RATING_UNSEEN, "review", rng, unseen, **slots)
    return _Call(template, "review", (), (lo, hi), draw)


def _yes_no(rng: Random, unseen: bool) -> _Call:
    name = rng.choice(tuple(questions.UNSEEN) if unseen else tuple(questions.SEEN))
    fact = name.removeprefix("!")
    makers = [
        make
        for make in (*REVIEW_ROWS, ticket_row)
        if any(fact in make(Random(one), True).facts for one in range(60))
    ]
    make = rng.choice(makers)
    column = "text" if make is ticket_row else "plot" if name == "kids_plot" else "review"

    def draw() -> tuple[str, str]:
        wanted = rng.random() < 0.5
        while (row := make(rng, True)).facts.get(fact) is not wanted:
            pass
        return row.columns[column], "yes" if wanted != name.startswith("!") else "no"

    item = make(Random(0), True).columns["item"] if make is not rows.product_row else "product"
    slots = {"noun": "ticket" if column == "text" else "review", "item": item}
    template = _template(
        (*questions.SEEN[name], questions.ask(name, rng)),
        questions.UNSEEN.get(name, ()),
        column,
        rng,
        unseen,
        **slots,
    )
    return _Call(template, column, ("yes", "no"), None, draw)


def _extraction(rng: Random, unseen: bool) -> _Call:
    make = rng.choice((*REVIEW_ROWS, ticket_row))
    probes = [make(Random(one), True) for one in range(100)]
    held = [one for one in FIELDS[probes[0].kind] if any(_holds(row, one[0], one[1]) for row in probes)]
    field, column, names = rng.choice(held)

    def draw() -> tuple[str, str]:
        while not _holds(row := make(rng, True), field, column):
            pass
        return row.columns[column], row.columns[field]

    slots = {"field": rng.choice(names), "Field": names[0].capitalize()}
    template = _template(phrasings.EXTRACTION, phrasings.EXTRACTION_UNSEEN, column, rng, unseen, **slots)
    return _Call(template, column, (), None, draw)


def _holds(row: rows.GeneratedRow, field: str, column: str) -> bool:
    value = row.columns.get(field, "")
    return bool(value) and value in row.columns[column]


def _summary(rng: Random, unseen: bool) -> _Call:
    make = rng.choice((*REVIEW_ROWS, ticket_row))
    column = "text" if make is ticket_row else "review"

    def draw() -> tuple[str, str]:
        row = make(rng, True)
        return row.columns[column], row.summary

    noun = "ticket" if column == "text" else "review"
    return _Call(
        _template(phrasings.SUMMARY, phrasings.SUMMARY_UNSEEN, column, rng, unseen, noun=noun),
        column,
        (),
        None,
        draw,
    )


_CALLS = {
    "sentiment": _sentiment, "yes_no": _yes_no, "category": _category, "rating": _rating,
    "extraction": _extraction,
    "summary": _summary,
}  # fmt: skip


def heldout(task: str, num_rows: int, seed: int = 0, unseen_phrasing: bool = False) -> list[EvalGroup]:
    """Return `num_rows` held-out rows of a task (one of `HELD_OUT_TASKS`) in groups of twenty per template.

    Names and sentence templates of the rows are disjoint from those of training; with `unseen_phrasing` the
    instructions are, too. The same arguments always give the same rows. Raises `ValueError`
    for an unknown task.
    """
    if task not in _CALLS:
        raise ValueError(f"unknown task {task!r}; known: {', '.join(HELD_OUT_TASKS)}")
    groups = []
    for start in range(0, num_rows, _GROUP_ROWS):
        rng = Random(f"heldout-{task}-{seed}-{start}-{unseen_phrasing}")
        call = _CALLS[task](rng, unseen_phrasing)
        drawn = [call.draw() for _ in range(min(_GROUP_ROWS, num_rows - start))]
        values, expected = tuple(value for value, _ in drawn), tuple(answer for _, answer in drawn)
        template = call.template.replace("{data}", "{" + call.column + "}")
        groups.append(
            EvalGroup(
                task,
                template,
                {call.column: values},
                call.choices,
                call.bounds,
                expected,
                not unseen_phrasing,
            )
        )
    return groups
