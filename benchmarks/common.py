"""What the benchmarks share: their options, the data folder, the table on the screen, the saved result."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.provenance import BENCHMARKS_PAGE, RESULTS, ROOT, provenance, uncommitted
from benchmarks.saved import saved_results, with_column

# No benchmark measures answers kept from an earlier run (benchmarks.resume sets its own cache), nor begins
# with the lengths of answers that another one learnt, nor asks a shared engine that happens to be up.
os.environ["RELSERVE_ANSWER_CACHE_MB"] = "0"
os.environ["RELSERVE_KEEP_LEARNT"] = "0"
os.environ.setdefault("RELSERVE_ENGINE", "own")


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="under a minute, smaller numbers, nothing saved")
    return parser


def data_folder() -> Path:
    """The shared data tables: RELSERVE_DATA, or ../shared/data beside the repository.

    Exits with a clear line where there is none.
    """
    folder = Path(os.environ.get("RELSERVE_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "tables" / "beer.csv").is_file():
        sys.stderr.write(
            f"skipped: no data tables in {folder}; set RELSERVE_DATA to the folder that has them\n"
        )
        sys.exit(0)
    return folder


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A plain text table, numbers to the right."""
    cells = [[_cell(v) for v in row] for row in rows]
    widths = [max(len(c), *(len(r[i]) for r in cells), 0) if cells else len(c) for i, c in enumerate(columns)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(columns, widths, strict=True))]
    for row, values in zip(cells, rows, strict=True):
        lines.append(
            "  ".join(
                c.rjust(w) if isinstance(v, (int, float)) else c.ljust(w)
                for c, v, w in zip(row, values, widths, strict=True)
            )
        )
    return "\n".join(lines)


def finish(
    name: str,
    headline: dict[str, Any],
    details: Any,
    quick: bool,
    plot: Callable[[Path], object] | None = None,
    elsewhere: Mapping[str, Any] | None = None,
) -> bool:
    """Say what the benchmark shows, save a full run's numbers, and print the headline as one line of JSON.

    What it shows is the first line of its docstring. Numbers are saved with their provenance, in the folder
    of results, and only where the commit tells which code they were measured on.

    Args:
        name: of the result file, without its ending.
        headline: the figures of the last line.
        details: everything else that is saved.
        quick: whether the run was a quick one, of which nothing is saved.
        plot: draws the numbers into the file beside the saved ones.
        elsewhere: what of the provenance is otherwise, where another machine measured.

    Returns:
        Whether the numbers were saved.
    """
    print("\n" + (sys.modules["__main__"].__doc__ or "").partition("\n")[0])
    reason = "" if quick else why_not_saved()
    if reason:
        sys.stderr.write(f"nothing was saved: {reason}\n")
    saved = not (quick or reason)
    if saved:
        RESULTS.mkdir(parents=True, exist_ok=True)
        source = provenance() | dict(elsewhere or {})
        record = {"headline": headline, "details": details, "provenance": source}
        text = without_places(json.dumps(record, indent=1, ensure_ascii=False, default=str))
        (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        if plot is not None:
            plot(RESULTS / f"{name}.png")
        renew_page()
    print(json.dumps(headline, ensure_ascii=False), flush=True)
    return saved


def renew_page() -> None:
    """Have docs/benchmarks.md say from which commit and day each line's figures are."""
    page = BENCHMARKS_PAGE.read_text(encoding="utf-8")
    renewed = with_column(page, saved_results(RESULTS))
    if renewed != page:
        BENCHMARKS_PAGE.write_text(renewed, encoding="utf-8")
        said = "names other commits now: its lines' words are yours to renew"
        sys.stderr.write(f"{BENCHMARKS_PAGE.name} {said}\n")


def without_places(text: str) -> str:
    """The text with "." for this checkout's folder and "~" for the user's, which say nothing elsewhere."""
    for folder, short in ((ROOT, "."), (Path.home(), "~")):
        if folder != Path(folder.anchor):
            text = text.replace(str(folder), short)
    return text


def why_not_saved() -> str:
    """The reason why a full run's numbers would not be saved now; empty where there is none."""
    try:
        changed = uncommitted()
    except (OSError, subprocess.CalledProcessError):
        return "this is no git checkout, so no commit could tell which code was measured"
    if not changed:
        return ""
    return f"{len(changed)} files differ from the commit, the first is {changed[0]}"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
