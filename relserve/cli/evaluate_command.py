"""The arguments and help of `relserve evaluate`."""

from __future__ import annotations

from typing import Annotated

import typer

from relserve.cli import common_options as common
from relserve.cli.evaluation_parts import Part
from relserve.cli.formats import Format
from relserve.cli.loading import loading


def evaluate_command(
    data: Annotated[
        str, typer.Argument(help="Labelled rows: a file (CSV, Parquet, JSON), a table or a SELECT.")
    ],
    label: Annotated[str, typer.Option(metavar="SQL", help="The right answer: a column, or an expression.")],
    question: Annotated[
        list[str],
        typer.Option(
            "--question", "-q", metavar="TEXT", help="What to ask, columns in {}; give several to compare."
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="As of `relserve sql`; give several to compare."),
    ] = None,
    function: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="llm_filter, llm_int, .. (default: by the label's type)."),
    ] = None,
    choice: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A class; give each (default: the labels).")
    ] = None,
    option: common.FunctionOptions = None,
    field: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of llm_extract's fields, the one that the label is for."),
    ] = None,
    rows: common.NumRows = None,
    seed: common.Seed = 0,
    db: common.OnlyRead = None,
    examples: common.WithExamples = False,
    part: Annotated[Part | None, typer.Option(help="Write this table (default: all; csv: summary).")] = None,
    format: Annotated[Format, typer.Option(help="How to write the tables.")] = Format.table,
    cache: Annotated[
        bool, typer.Option(help="Use kept answers, which take no time, and keep new ones.")
    ] = False,
) -> None:
    """Measure how often an llm function is right, on rows whose right answers you know.

    Shows accuracy with its interval, precision and recall of each class, which labels got which answers,
    tokens and time, and the 20 worst rows. Measure 50 rows before you trust 50,000.

    Examples:

    * `relserve evaluate messages.csv --label is_complaint -q "Is it a complaint? {message}"`
    * `relserve evaluate --examples reviews --label "stars >= 4" --rows 50 -q "Is it praise? {review}"
      -q "Would they buy it again? {review}"`
    * `relserve evaluate --db shop.db mails --label topic -q "About what? {body}" --model tiny --model URL`
    * `relserve evaluate orders.csv --label days --function llm_int -q "Days of delay? {text}" --format json`
    * `relserve evaluate .. --option min_confidence=0`: the model tells how sure it is; the surest mistakes
      come first
    """
    with loading():
        from relserve.cli import evaluate

    options = dict(map(evaluate.option_of, option or ()))
    if choice:
        options["choices"] = choice
    given = {"function": function, "field": field, "rows": rows, "seed": seed, "cache": cache, **options}
    evaluate.run(evaluate.LabelledData(data, label, db, examples), question, model or (), given, part, format)
