"""Accuracy of text2sql(): its SQL is judged by the rows that it gives; an empty result is wrong.

The sets: questions over generated schemas whose words training never saw; questions that somebody wrote who
has not seen the generator; questions about the shipped tables; Spider and BIRD with the whole schema. The
first two are judged on two databases that are filled with other rows for each question. Spider and BIRD have
no bar: the embedded model is made for plain questions over small schemas. Any other model is asked with
--model, an ablation a row.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.claims import Exact, Higher, Untold
from benchmarks.common import arguments, data_folder, finish, table
from benchmarks.text2sql.asking import AnswerVerdict, ask
from benchmarks.text2sql.public_sets import FILES, public_set
from benchmarks.text2sql.questions import UNSEEN, Group, held_out, shipped, unseen
from relserve.api import Connection, connect
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.writers import POINTER_MODEL, writes_handles

ROOMS = ("relserve/text2sql", "relserve/tiny_sql", "training/tiny_sql", "relserve/linking")
HEADLINE = {
    "heldout": Higher(by=0.07), "heldout_unanimous": Higher(by=0.08), "shipped": Higher(by=0.07),
    "shipped_unanimous": Higher(by=0.08), "unseen": Untold("in full runs"),
    "unseen_unanimous": Untold("in full runs"), "spider": Untold("in full runs"),
    "spider_unanimous": Untold("in full runs"), "bird": Untold("in full runs"),
    "bird_unanimous": Untold("in full runs"), "invented": Exact(0),
}  # fmt: skip

SETS = ("heldout", "unseen", "shipped", *FILES)
BARS = {"heldout": 0.96, "unseen": 0.80, "shipped": 0.85}
AGREED_BARS = {"heldout": 0.97, "unseen": 0.90}
NUM_HELD_OUT = 500
COLUMNS = (
    "set", "pipeline", "questions", "right", "bar", "unanimous", "of these right", "bar of these", "refused",
    "invented", "unparsed", "SQL texts", "calls", "prompt tokens", "output tokens", "s",
)  # fmt: skip
POINTING = (
    ("one shuffle of handles", {"candidates": 1}),
    ("vote of 5 shuffles", {}),
)
WRITING = (
    ("one prompt", dict(effort="quick", candidates=1, max_revisions=0, grammar=False)),
    ("+ grammar", dict(effort="quick", candidates=1, max_revisions=0)),
    ("+ schema selection", dict(effort="standard", candidates=1, max_revisions=0)),
    ("+ revision", dict(effort="standard", candidates=1)),
    ("+ vote", dict(effort="standard")),
    ("+ unit tests", dict(effort="thorough")),
)


def groups_of(name: str, count: int | None) -> Iterator[Group]:
    """The questions of a set, about one database after another."""
    if name == "heldout":
        yield from held_out(count or NUM_HELD_OUT)
    elif name == "unseen":
        yield from unseen(count)
    elif name == "shipped":
        yield from shipped(count)
    else:
        yield from public_groups(name, count)


def public_groups(name: str, count: int | None) -> Iterator[Group]:
    """The questions of a public set, `count` of them at most."""
    left = count
    for group, _ in public_set(name, data_folder()):
        yield group._replace(questions=group.questions[:left])
        left = None if left is None else max(0, left - len(group.questions))
        if left == 0:
            return


def measured(
    con: Connection, name: str, pipeline: str, options: Text2SqlOptions, count: int | None
) -> tuple[list[Any], list[AnswerVerdict]]:
    """A line of the table, and the verdicts behind it."""
    began_s = time.monotonic()
    verdicts: list[AnswerVerdict] = []
    prompt_tokens = output_tokens = 0
    with tempfile.TemporaryDirectory() as folder:
        for group in groups_of(name, count):
            asked = ask(group, con.session, options, Path(folder))
            verdicts += asked.verdicts
            prompt_tokens += asked.prompt_tokens
            output_tokens += asked.output_tokens
            if name != "shipped":  # whose groups share one
                group.close()
    agreed = [each for each in verdicts if each.agreed]
    line = [
        name, pipeline, len(verdicts), share_right(verdicts), BARS.get(name),
        len(agreed) / len(verdicts), share_right(agreed), AGREED_BARS.get(name),
        sum(each.refused for each in verdicts) / len(verdicts),
        sum(each.num_invented for each in verdicts), sum(each.num_unparsed for each in verdicts),
        sum(each.num_sql for each in verdicts), sum(each.calls for each in verdicts),
        prompt_tokens, output_tokens, round(time.monotonic() - began_s),
    ]  # fmt: skip
    return line, verdicts


def share_right(verdicts: Sequence[AnswerVerdict]) -> float | None:
    """Right answers as a share of the questions; None where there is no question."""
    return sum(each.right for each in verdicts) / len(verdicts) if verdicts else None


def by_shape(name: str, verdicts: Sequence[AnswerVerdict]) -> list[list[Any]]:
    """A line for each shape of question."""
    groups: dict[str, list[AnswerVerdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.shape].append(verdict)
    return [
        [name, shape, len(group), share_right(group), sum(each.refused for each in group) / len(group)]
        for shape, group in sorted(groups.items())
    ]


def options_of(args: argparse.Namespace) -> list[tuple[str, Text2SqlOptions]]:
    """The pipelines to measure: all of the ablation, or the one that text2sql() has by default."""
    rows = POINTING if args.model == POINTER_MODEL or writes_handles(args.model) else WRITING
    if not args.ablation and rows is POINTING:
        rows = POINTING[1:]
    return [(pipeline, Text2SqlOptions(model=args.model, **changes)) for pipeline, changes in rows]


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--model", default=POINTER_MODEL, help="as text2sql() takes it")
    parser.add_argument(
        "--set", action="append", choices=SETS, help="a set of questions, several times (default: all)"
    )
    parser.add_argument("--questions", type=int, help="of each set, at most")
    parser.add_argument("--ablation", action="store_true", help="the embedded model without its vote, too")
    parser.add_argument("--wrong", action="store_true", help="print the questions that went wrong")
    args = parser.parse_args()
    args.set = args.set or (["heldout", "shipped"] if args.quick else list(SETS))
    args.questions = args.questions or (15 if args.quick else None)
    return args


def main() -> None:
    """Print the tables and the headline."""
    args = parsed()
    con = connect(model=args.model, progress=False, cache=False)
    lines, shapes, wrong = [], [], []
    headline: dict[str, Any] = {} if args.model == POINTER_MODEL else {"model": args.model}
    for name in args.set:
        if name == "unseen" and not UNSEEN.exists():
            print(f"unseen: skipped, there is no {UNSEEN.name}")
            continue
        if name in FILES:
            left_out = sum(num_left_out for _, num_left_out in public_set(name, data_folder()))
            print(
                f"{name}: {left_out} questions left out, whose gold SQL gives other rows in DuckDB, or none"
            )
        for pipeline, options in options_of(args):
            line, verdicts = measured(con, name, pipeline, options, args.questions)
            lines.append(line)
            print(table(COLUMNS, [line]), flush=True)
        shapes += by_shape(name, verdicts)
        wrong += [(name, each) for each in verdicts if not each.right]
        headline[name] = round(share_right(verdicts) or 0.0, 3)
        headline[f"{name}_unanimous"] = round(
            share_right([each for each in verdicts if each.agreed]) or 0.0, 3
        )
    con.close()
    headline["invented"] = sum(line[COLUMNS.index("invented")] for line in lines)
    print(table(COLUMNS, lines))
    print(table(("set", "shape", "questions", "right", "refused"), shapes))
    if args.wrong:
        for name, each in wrong:
            print(f"{name} | {each.shape} | {each.question} | {each.sql or each.why}")
    details = {"columns": COLUMNS, "rows": lines, "shapes": shapes}
    finish("text2sql_accuracy", headline, details, args.quick or args.questions is not None)


if __name__ == "__main__":
    main()
