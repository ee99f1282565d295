"""Frames for one number over many rows, and the words of the numbers.

Slots: {n} the aggregate (`average price`), {rows}, {row}, {terse} and {nouns} as in `rows`; in the words {c} is the column, {cs}
its plural.
"""

WORDS = {
    "avg": ("average {c}", "average {c}", "average {c}", "mean {c}", "avg {c}", "avg. {c}", "{c} average", "typical {c}", "average of the {cs}", "mean of the {c}", "average of {c}", "average {cs}", "(mean|average) value of [the] {c}", "{c} on average"),
    "sum": ("total {c}", "total {c}", "sum of [the] {c}", "sum of [the|all] {cs}", "combined {c}", "overall {c}", "total {cs}", "summed {c}", "total amount of {c}", "sum {c}", "total of [the|all] {cs}", "{c} sum", "{c} total", "{c} in total", "aggregate {c}", "cumulative {c}", "total sum of [the] {cs}", "accumulated {c}"),
    "max": ("maximum {c}", "highest {c}", "max {c}", "largest {c}", "biggest {c}", "greatest {c}", "top {c}", "peak {c}", "highest value of {c}", "maximum of [the] {c}", "maximal {c}", "maximum value of {c}", "upper limit of [the] {c}", "highest possible {c}"),
    "min": ("minimum {c}", "lowest {c}", "min {c}", "smallest {c}", "least {c}", "minimal {c}", "lowest value of {c}", "minimum of [the] {c}", "minimum value of {c}", "bottom {c}", "lower limit of [the] {c}"),
}
DATE_WORDS = {
    "max": ("latest {c}", "most recent {c}", "last {c}", "newest {c}", "max {c}", "maximum {c}", "latest of the {cs}"),
    "min": ("earliest {c}", "first {c}", "oldest {c}", "min {c}", "minimum {c}", "earliest of the {cs}", "soonest {c}"),
}
# Several aggregates of one column: `minimum and maximum price`.
SHORT = {
    "avg": ("average", "mean", "avg"),
    "sum": ("total", "sum", "overall"),
    "max": ("maximum", "highest", "max", "largest"),
    "min": ("minimum", "lowest", "min", "smallest"),
}
AGGREGATE = (
    "<ask> the {n} of [all|the|all the|our] {rows}",
    "<ask> the {n} of [all|the|all the|our] {rows}",
    "<ask> the {n} (for|over|across|among) [all|the|all the] {rows}",
    "<ask> {n} (of|for) [all|the] {rows}",
    "what is the {n} of [all|the|all the|our] {rows}?",
    "what's the {n} of [all|the] {rows}?",
    "what is the {n} (for|among|across|over|in) [all|the|all the] {rows}?",
    "what (is|was) the {n} of [the] {rows}",
    "what {n} do [all|the|our] {rows} have?",
    "which {n} do [all|the] {rows} have?",
    "<show> the {n} of [all|the|all the] {rows}",
    "<show> the {n} for [all|the] {rows}",
    "<show> [the] {n} (over|across) [all|the] {rows}",
    "(calculate|compute|determine|get|return|work out) the {n} of [all|the] {rows}",
    "(calculate|compute|determine) [the] {n} for [all|the] {rows}",
    "{n} of [all|the|all the] {rows}",
    "{n} of {rows}",
    "{n} for [all|the] {rows}",
    "{n} across [all|the] {rows}",
    "{n} {rows}",
    "{rows} {n}",
    "{rows}: {n}",
    "{row} {n}",
    "{n}, {rows}",
    "the {n} of [all|the] {rows}",
    "the {n} of [all|the] {rows} is (what|how much)?",
    "[all|the] {rows} have what {n}?",
    "for [all|the|all the] {rows}, <ask> the {n}",
    "for [all|the] {rows}, what is the {n}?",
    "for [all|the] {rows}: {n}",
    "(considering|looking at|taking|given) [all|the] {rows}, what is the {n}?",
    "(among|across|over) [all|the] {rows}, what is the {n}?",
    "(among|across|over) [all|the] {rows}, <show> the {n}",
    "(I|we) need [to know] the {n} of [all|the] {rows}",
    "I'd like to know the {n} of [all|the] {rows}",
    "(tell me|do you know) what the {n} of [all|the] {rows} is",
    "how (much|high|large|big) is the {n} of [all|the] {rows}?",
    "if you take [all|the] {rows}, what is the {n}?",
    "{terse} {n}",
    "{n} {terse}",
    "{terse}: {n}",
    "(report|state|quote) the {n} of [all|the] {rows}",
    "do you have the {n} of [all|the] {rows}?",
    "give us the {n} for [all|the] {rows}",
    "what {n} can be found among [all|the] {rows}?",
)
# Without a word for the rows: only where there is one table.
ALONE = ("<ask> the {n}", "what is the {n}?", "<show> the {n}", "{n}", "the {n}", "overall {n}", "what's the {n} overall?", "{n} of everything", "(compute|calculate) the {n}")
# Around words for the column alone.
AVERAGE = (
    "how (much|high|large|big) is the {c} of [the|all] {rows} on average?",
    "what {c} do [the|all] {rows} have on average?",
    "on average, what is the {c} of [the|all] {rows}?",
    "on average, what {c} do [the|all] {rows} have?",
    "what is the {c} of [the|all] {rows} on average?",
    "average the {c} of [the|all] {rows}",
    "average the {c} over [the|all] {rows}",
    "take the (mean|average) of the {c} of [the|all] {rows}",
    "what {c} does (a|the) typical {row} have?",
    "what {c} does (an|the) average {row} have?",
    "what is the {c} of (an|the) average {row}?",
)
TOTAL = (
    "add up the {c} of [the|all] {rows}",
    "sum up the {c} of [the|all] {rows}",
    "sum the {cs} of [the|all] {rows}",
    "how much {c} do [the|all] {rows} have (in total|altogether|combined|together|overall)?",
    "what is the {c} of [the|all] {rows} (in total|altogether|combined|put together|summed up)?",
    "what do the {cs} of [the|all] {rows} (add up|sum up|amount) to?",
    "add together the {cs} of [the|all] {rows}",
    "(altogether|in total), what is the {c} of [the|all] {rows}?",
    "(altogether|in total|all together), what {c} do [the|all] {rows} have?",
    "total up the {c} of [the|all] {rows}",
    "total the {cs} of [the|all] {rows}",
)
TOTAL_COUNT = (
    "how many {cs} do [the|all] {rows} have (in total|altogether|combined|together|overall)?",
    "how many {cs} are there in total (for|across|over|in) [the|all] {rows}?",
    "how many {cs} (in total|altogether) do [the|all] {rows} have?",
    "what is the total number of {cs} of [the|all] {rows}?",
    "total number of {cs} (of|for|across) [the|all] {rows}",
)
HIGHEST = (
    "how high (is|does) the {c} of [the|all] {rows} (get|go|at most)?",
    "what {c} do [the|all] {rows} (reach|have) at (most|the most|best)?",
    "up to what {c} do [the|all] {rows} go?",
)
LOWEST = ("how low does the {c} of [the|all] {rows} (get|go)?", "what {c} do [the|all] {rows} have at least?")
