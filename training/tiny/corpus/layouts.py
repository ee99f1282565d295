"""Where the row's text stands in a template, and how the instruction is written."""

from random import Random

_AFTER = (
    "{i}: {data}", "{i}\n{data}", "{i}\n\n{data}", "{i}: [{data}]", '{i}: "{data}"', "{i}: '{data}'",
    "{i} {data}", "{i}. {data}",
    "{i}\n{label}: {data}", "{i}\n\n{label}: {data}", "{i} ({data})", "{i} - {data}", "{i} [{data}]",
    "{i}:\n\n{data}",
    "{i}\n\"\"\"\n{data}\n\"\"\"", "{i} <{data}>", "{i}. {label}: {data}", "{i} {label}: {data}",
    "{i} | {data}", "{i}: {label}: [{data}]",
    "Please {j}: {data}", "Your task: {i}\n{data}", "Based on the {label}: [{data}], {j}",
    "Given the {label} \"{data}\", {j}",
    "Read the following {label}.\n{data}\n{i}", "{i} Here it is: {data}", "{i} \u201c{data}\u201d",
    "Question: {i}\nText: {data}\nAnswer:",
)  # fmt: skip
_BEFORE = (
    "{data}\n{i}", "{data}\n\n{i}", "{data} {i}", "{label}: {data}\n{i}", "{label}: {data}\n\n{i}",
    "[{data}] {i}", "\"{data}\" {i}",
    "{data} - {i}", "Here is a {label}: {data}\n{i}", "{data}\n---\n{i}", "{label}: [{data}]. {i}",
    "Text: {data}\nQuestion: {i}",
    "{label} = {data}; {i}", "Consider this {label}: {data}\n{i}", "({data}) {i}", "{label}: {data}\n{i}:",
    "{data}\n\n{i}\nAnswer:",
)  # fmt: skip
_LABELS = {
    "review": ("review", "Review", "comment", "text", "REVIEW", "user review", "reviewText", "feedback"),
    "text": ("ticket", "text", "message", "Ticket", "body", "Message"),
    "plot": ("plot", "Plot", "movie_info", "synopsis", "story"),
    "name": ("product", "name", "Product", "item", "product name"),
    "description": ("description", "product", "text", "Description"),
    "blurb": ("text", "film", "blurb", "movie"), "listing": ("beer", "listing", "text"),
    "style": ("style", "beer style"),
}  # fmt: skip
_ENDS = (
    "",
    "",
    "",
    "",
    ".",
    ":",
    "!",
    " please",
    " Answer briefly.",
    " Be brief.",
    " One word.",
    " Do not explain.",
)


_COMMON = tuple(
    """
the a of to in for on with as at by from this that it is are was be we you they there here one some any
all each other what which who how when where please tell give me us let see look find say name need want
would could should can must make take put write read think decide work out going given above below
following line text words data row entry case table column value field list note part kind sort best right
own new first last only just also then so now well very somebody someone person people client user thing
matter point question answer result form word number box mark label choose help understand consider check
over again before after into under about between through quick short simple
""".split()
)


def blur(rng: Random, keep: str = "") -> str:
    """Write an instruction of common words around the one that matters: no wording is to be law."""
    said = [rng.choice(_COMMON) for _ in range(rng.randint(0, 9))]
    said.insert(rng.randint(0, len(said)), keep)
    text = " ".join(part for part in said if part) or "Answer"
    return text[:1].upper() + text[1:] + rng.choice(("", "", "?", "."))


def compose(instruction: str, column: str, rng: Random) -> str:
    """Join an instruction and a column into a template with one `{data}`."""
    draw = rng.random()
    text = instruction
    if draw < 0.15:
        text = text.lower()
    elif draw < 0.18:
        text = text.upper()
    elif draw < 0.25:
        text = text.rstrip("?")
    elif draw < 0.45:
        text = text[:1].upper() + text[1:]
    if rng.random() < 0.2:
        text = text.rstrip("?.") + rng.choice(_ENDS)
    layout = rng.choice(_AFTER if rng.random() < 0.6 else _BEFORE)
    label = rng.choice(_LABELS.get(column, (column,)))
    lowered = text[:1].lower() + text[1:]
    return layout.replace("{i}", text).replace("{j}", lowered).replace("{label}", label)
