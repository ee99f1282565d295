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
