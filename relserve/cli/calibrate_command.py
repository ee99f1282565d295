"""The arguments and help of `relserve calibrate`, which measures steps, and of its command `decisions`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relserve.cli import common_options as common
from relserve.cli.loading import loading
from relserve.errors import UsageError

MODEL, SECONDS = "tiny", 40.0

app = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")


@app.callback()
def steps_command(
    context: typer.Context,
    model: Annotated[str, typer.Option(metavar="NAME", help="'tiny', a folder or a hub id.")] = MODEL,
    out: Annotated[Path | None, typer.Option(help="File to write (default: where engines look).")] = None,
    seconds: Annotated[
        float, typer.Option(min=1, help="Longest time to measure, after the start.")
    ] = SECONDS,
) -> None:
    """Measure how long a model's steps take on this machine, so that relserve's scheduler predicts well.

    Starts an engine, runs prefills and decodes of several sizes on random tokens, and fits the cost model
    (seconds a prompt token, seconds a decoding row, and a base each). Engine arguments are those of
    RELSERVE_ENGINE_ARGS. Let nothing else run meanwhile.

    Without --out the file goes to the cache folder under a name made of the model and the hardware, and from
    then on every engine of that model on such a machine starts with it, unless its variant is `stock`. A file
    written elsewhere is named by the scheduler's setting `cost_path`. Without a calibration an engine starts
    with a guess and learns from its own steps.

    `relserve calibrate decisions` is about something else: how sure a model is.

    Examples:

    * `relserve calibrate`
    * `relserve calibrate --model ~/models/qwen --out cost.json`
    """
    if context.invoked_subcommand is not None:
        if (model, out, seconds) != (MODEL, None, SECONDS):
            raise UsageError(f"write options behind the command: calibrate {context.invoked_subcommand} ..")
        return
    from relserve.cli.calibrate import calibrate

    calibrate(model, out, seconds)


@app.command("decisions")
def decisions_command(
    table: Annotated[
        str, typer.Option(help="Labelled rows: a table, a file (CSV, Parquet, JSON) or a SELECT.")
    ],
    question: Annotated[str, typer.Option("--question", "-q", help="What to ask, columns in {}.")],
    truth: Annotated[str, typer.Option(metavar="SQL", help="The right answer: a column, or an expression.")],
    name: Annotated[str, typer.Option(help="Under which it is kept: calibration := 'NAME'.")],
    choice: Annotated[
        list[str] | None,
        typer.Option("--choice", "--choices", metavar="TEXT", help="One of llm_probs; give each."),
    ] = None,
    model: common.Model = None,
    option: common.FunctionOptions = None,
    rows: common.NumRows = None,
    seed: common.Seed = 0,
    db: common.OnlyRead = None,
    examples: common.WithExamples = False,
    chart: Annotated[bool, typer.Option("--chart", help="Draw the reliability as bars, too.")] = False,
    cache: common.KeptAnswers = True,
) -> None:
    """Correct the probabilities of llm_prob or llm_probs by labelled rows, so that 0.9 is right in 9 of 10.

    Asks the question about the rows, takes the simplest correction that does as well as the best on rows left
    out, keeps it under a name, and shows Brier score and calibration error before and after. Calls with
    calibration := 'NAME' are corrected from then on. Label 100 rows or more, drawn at random.

    Examples:

    * `relserve calibrate decisions --table reviews --examples --truth "stars >= 4" --name praise
      -q "Is this review positive? {review}"`
    * `relserve calibrate decisions --table mails.csv --truth team --choice sales --choice support
      --name team -q "Who should answer? {body}" --chart`
    """
    with loading():
        from relserve.cli import calibrate_decisions, evaluate

    options = dict(map(evaluate.option_of, option or ()))
    given = {"name": name, "choices": choice, "model": model, "rows": rows, "seed": seed, "cache": cache}
    data = evaluate.LabelledData(table, truth, db, examples)
    calibrate_decisions.run(data, question, {**options, **given}, chart)
