"""Training examples: one row, one instruction, one expected answer."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from training.tiny.corpus import drills, labels, layouts, phrasings, questions, rows
from training.tiny.corpus.schemes import REVIEW_ROWS, SCHEMES, RowMaker, pick_choices
from training.tiny.corpus.tickets import ticket_row
from training.tiny.prompts import choices_line, score_line

SCALES = ((1, 5), (1, 5), (1, 5), (0, 5), (1, 10), (0, 10), (0, 20))
FIELDS: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "products": (
        ("brand", "description", ("brand", "maker", "manufacturer", "brand name")),
        ("brand", "name", ("brand", "brand name")),
        ("price", "description", ("price", "cost", "amount")), ("colour", "description", ("colour", "color")),
        ("item", "description", ("product type", "kind of product", "item")),
        ("brand", "review", ("brand", "maker")),
        ("price", "review", ("price", "amount paid")),
    ),
    "films": (
        ("title", "blurb", ("title", "film title", "movie title", "name of the film")),
        ("director", "blurb", ("director", "name of the director")),
        ("year", "blurb", ("year", "release year", "year of release")),
        ("title", "review", ("film title", "title")),
        ("director", "review", ("director", "name of the director")), ("city", "review", ("city", "place")),
    ),
    "beers": (
        ("abv", "listing", ("ABV", "alcohol content", "alcohol", "strength")),
        ("style", "listing", ("style", "beer style")),
        ("brewery", "listing", ("brewery", "brewer")), ("city", "review", ("city", "place")),
        ("brewery", "review", ("brewery",)), ("city", "listing", ("city", "place", "town")),
        ("name", "listing", ("name", "beer name")),
    ),
    "tickets": (
        ("order", "text", ("order number", "order id", "order")),
        ("name", "text", ("customer name", "name", "name of the customer", "sender")),
        ("city", "text", ("city", "town", "place")), ("price", "text", ("amount", "sum", "price")),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class TaskExample:
    """One call: `template` holds `{data}`; `choices` or `bounds` constrain the answer."""

    task: str
    column: str
    template: str
    data: str
    answer: str
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None

    @property
    def user(self) -> str:
        """The user message of the call, with the line that typed functions put first."""
        text = self.template.replace("{data}", self.data)
        if self.choices:
            return choices_line(self.choices) + text
        return score_line(*self.bounds) + text if self.bounds else text


def _noun(row: rows.GeneratedRow, rng: Random) -> str:
    return rng.choice(phrasings.NOUNS[row.kind])


def _data(row: rows.GeneratedRow, column: str, rng: Random) -> str:
    """Return the column's text, now and then with the row's name, as in a template of two columns."""
    text = row.columns[column]
    name = row.columns.get("title") or row.columns["name"]
    if not name or rng.random() > 0.12:
        return text
    label = rng.choice(("name", "Product", "Film", "title", "Title", "Beer", row.columns["item"]))
    return rng.choice((
        f"{label}: {name}\n{column}: {text}", f"{label}: [{name}], {column}: [{text}]", f"{name}: {text}",
        f"{text} ({name})",
        f"[{text}] on the {row.columns['item']}: [{name}]", f"{text}\n{label}: {name}",
    ))  # fmt: skip


def _with_choices(
    task: str,
    column: str,
    row: rows.GeneratedRow,
    said: str,
    picks: tuple[str, ...],
    answer: str,
    rng: Random,
) -> TaskExample:
    """Give the choices in the typed line, or in the instruction's own words in a third of the examples."""
    template = layouts.compose(said, column, rng)
    data = _data(row, column, rng) if task == "sentiment" else row.columns[column]
    if rng.random() < 0.67:
        return TaskExample(task, column, template, data, answer, picks)
    named = labels.in_words(picks, rng)
    template = (
        f"{template}{rng.choice((' ', chr(10)))}{named}" if rng.random() < 0.7 else f"{named} {template}"
    )
    return TaskExample(task, column, template, data, answer)


def sentiment(rng: Random, held_out: bool) -> TaskExample:
    """Ask for a label of the whole review."""
    return judge_row(rng.choice(REVIEW_ROWS)(rng, held_out, rng.choice((1, 1, 2, 2, 3, 4, 4, 5, 5))), rng)


def judge_row(row: rows.GeneratedRow, rng: Random) -> TaskExample:
    """Ask for the sentiment of a row with stars, under a label set that has a label for them."""
    size, stars = rng.choice((3, 5) if row.stars == 3 else (2, 2, 2, 3, 3, 5)), row.stars or 3
    ordered = labels.case(rng.choice({2: labels.TWO, 3: labels.THREE, 5: labels.FIVE}[size]), rng)
    answer = labels.by_stars(ordered, stars)
    picks = tuple(rng.sample(ordered, len(ordered)))
    said = rng.choice(phrasings.SENTIMENT).replace("{noun}", _noun(row, rng))
    said = layouts.blur(rng) if rng.random() < 0.2 else said
    return _with_choices("sentiment", "review", row, said, picks, answer, rng)


def category(rng: Random, held_out: bool) -> TaskExample:
    """Ask for a category among given ones."""
    scheme = rng.choice(("category", "category", "genre", "style", "matter", "matter"))
    row, column = SCHEMES[scheme].make(rng, held_out), rng.choice(SCHEMES[scheme].columns)
    picks, answer = pick_choices(scheme, row.labels[scheme], rng)
    said = rng.choice(phrasings.CATEGORY[scheme]).replace("{noun}", _noun(row, rng))
    said = layouts.blur(rng) if rng.random() < 0.2 else said
    return _with_choices("category", column, row, said, picks, answer, rng)


def to_scale(stars: int, lo: int, hi: int) -> int:
    """Map one to five stars linearly to a scale."""
    return int(lo + (hi - lo) * (stars - 1) / 4 + 0.5)


def rating(rng: Random, held_out: bool) -> TaskExample:
    """Ask for a score; the scale stands in the typed line or in the instruction."""
    return rate_row(rng.choice(REVIEW_ROWS)(rng, held_out, rng.randint(1, 5)), rng)


def rate_row(row: rows.GeneratedRow, rng: Random) -> TaskExample:
    """Ask for the score of a row with stars."""
    stars = row.stars or 3
    lo, hi = rng.choice(SCALES)
    typed = rng.random() < 0.7
    sayings = [one for one in phrasings.RATING if typed or ("{lo}" in one and "{hi}" in one)]
    said = (
        rng.choice(sayings)
        .replace("{noun}", _noun(row, rng))
        .replace("{lo}", str(lo))
        .replace("{hi}", str(hi))
    )
    said = (
        layouts.blur(rng, f"{lo} {hi}" if rng.random() < 0.5 else "")
        if typed and rng.random() < 0.2
        else said
    )
    template = layouts.compose(said, "review", rng)
    if not typed and rng.random() < 0.4:
        template += rng.choice(
            (" Output only the number.", " Output nothing else but only the number.", " Number only.")
        )
    return TaskExample(
        "rating",
        "review",
        template,
        _data(row, "review", rng),
        str(to_scale(stars, lo, hi)),
        (),
        (lo, hi) if typed else None,
    )


_REVIEW_FACTS = ("satisfied", "satisfied", "satisfied", "recommends")
_FACTS: dict[RowMaker, tuple[str, ...]] = {
    rows.product_row: (*_REVIEW_FACTS, "buy_again", "price", "shipping", "battery", "gift"),
    rows.film_row: (
        *_REVIEW_FACTS,
        "order_again",
        "acting",
        "ending",
        "music",
        "kids",
        "kids_plot",
        "kids_plot",
    ),
    rows.beer_row: (*_REVIEW_FACTS, "order_again", "bitter", "sweet", "dark"),
    ticket_row: ("urgent", "angry", "refund", "order_number"),
}


def row_with_fact(rng: Random, held_out: bool) -> tuple[rows.GeneratedRow, str, bool]:
    """Draw a question, an answer (yes and no equally often for each question) and a row that it holds for."""
    make = rng.choice(tuple(_FACTS))
    name, wanted = rng.choice(_FACTS[make]), rng.random() < 0.5
    while (row := make(rng, held_out)).facts.get(name) is not wanted:
        pass
    if name == "satisfied" and rng.random() < 0.4:
        return row, "!satisfied", not wanted
    return row, name, wanted


def yes_no(rng: Random, held_out: bool) -> TaskExample:
    """Ask a yes/no question."""
    row, name, holds = row_with_fact(rng, held_out)
    column = "plot" if name == "kids_plot" else "text" if row.kind == "tickets" else "review"
    return ask_fact(row, column, name, holds, rng)


def ask_fact(row: rows.GeneratedRow, column: str, name: str, holds: bool, rng: Random) -> TaskExample:
    """Ask about one fact of a row, mostly as the filter function does."""
    said = questions.ask(name, rng).replace("{noun}", _noun(row, rng)).replace("{item}", row.columns["item"])
    template = layouts.compose(said, column, rng)
    data = row.columns[column] if column != "review" else _data(row, column, rng)
    if rng.random() < 0.75:
        return TaskExample("yes_no", column, template, data, "yes" if holds else "no", ("yes", "no"))
    yes, no = rng.choice((("Yes", "No"), ("Yes", "No"), ("YES", "NO"), ("yes", "no"), ("true", "false")))
    picks, answer = (yes, no) if rng.random() < 0.7 else (no, yes), yes if holds else no
    if rng.random() < 0.3:
        return TaskExample("yes_no", column, template, data, answer, picks)
    return TaskExample("yes_no", column, f"{template} {labels.in_words(picks, rng)}", data, answer)


def _row_with_field(rng: Random, held_out: bool) -> tuple[rows.GeneratedRow, str, str, str]:
    while True:
        row = rng.choice((*REVIEW_ROWS, ticket_row))(rng, held_out)
        field, column, names = rng.choice(FIELDS[row.kind])
        value = row.columns.get(field, "")
        if value and value in row.columns[column]:
            return row, column, rng.choice(names), value


def extraction(rng: Random, held_out: bool) -> TaskExample:
    """Ask for a value that stands in the text."""
    row, column, name, value = _row_with_field(rng, held_out)
    said = rng.choice(phrasings.EXTRACTION).replace("{field}", name).replace("{Field}", name.capitalize())
    said = layouts.blur(rng, name) if rng.random() < 0.25 else said
    return TaskExample("extraction", column, layouts.compose(said, column, rng), row.columns[column], value)


def open_answer(rng: Random, held_out: bool) -> TaskExample:
    """Ask for a summary or a reply."""
    row = rng.choice((*REVIEW_ROWS, ticket_row))(rng, held_out)
    column = "text" if row.kind == "tickets" else "review"
    wants_reply = rng.random() < 0.25
    said = rng.choice(phrasings.REPLY if wants_reply else phrasings.SUMMARY).replace(
        "{noun}", _noun(row, rng)
    )
    answer = row.reply if wants_reply else row.summary
    return TaskExample(
        "reply" if wants_reply else "summary",
        column,
        layouts.compose(said, column, rng),
        row.columns[column],
        answer,
    )


TASKS: dict[str, Callable[[Random, bool], TaskExample]] = {
    "sentiment": sentiment, "category": category, "rating": rating, "yes_no": yes_no,
    "extraction": extraction, "open": open_answer,
}  # fmt: skip
WEIGHTS = {"sentiment": 20, "category": 13, "rating": 13, "yes_no": 40, "extraction": 26, "open": 5}
_NAMES = tuple(name for name, weight in WEIGHTS.items() for _ in range(weight))


def drill(rng: Random) -> TaskExample:
    """Return a short exercise: copying, recalling, picking, or judging a few words."""
    draw = rng.random()
    if draw < 0.35:
        text, answer, _ = rng.choice(drills.DRILLS)(rng)
        return TaskExample("drill", "text", "{data}", text, answer)
    if draw < 0.65:
        text, name, holds, kind = drills.fact(rng)
        column = "text" if kind == "tickets" else "review"
        item = {"films": "film", "beers": "beer"}.get(kind, "product")
        return ask_fact(
            rows.GeneratedRow(kind, {column: text, "name": "", "item": item}, None), column, name, holds, rng
        )
    text, stars, kind = drills.word_sense(rng)
    row = rows.GeneratedRow(kind, {"review": text, "name": "", "item": "product"}, stars)
    return rate_row(row, rng) if rng.random() < 0.3 else judge_row(row, rng)


def training_example(seed: str, easy: bool = False) -> TaskExample:
    """Write the training example of a seed; `easy` ones have more drills and shorter rows."""
    rng = Random(seed)
    if rng.random() < (0.45 if easy else 0.2):
        return drill(rng)
    make = TASKS[rng.choice(_NAMES)]
    example = make(rng, False)
    is_short = easy or rng.random() < 0.35
    while is_short and len(example.data) > 160:
        example = make(rng, False)
    return example
