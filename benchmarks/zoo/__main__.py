"""Small made-up models of real architectures, built into build/zoo.

.venv/bin/python -m benchmarks.zoo [NAME ...]
"""

from __future__ import annotations

import argparse
import time

from benchmarks.common import table
from benchmarks.zoo.builder import build, megabytes
from benchmarks.zoo.recipes import NAMES, RECIPES


def main() -> None:
    """Build the models named, or all, and print where each is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all, or of {', '.join(NAMES)}")
    lines = []
    for name in parser.parse_args().names or NAMES:
        began_s = time.monotonic()
        folder = build(name)
        lines.append(
            [name, RECIPES[name].vocab_size, megabytes(folder), time.monotonic() - began_s, folder.name]
        )
    print(table(["model", "tokens", "MB", "seconds", "folder in build/zoo"], lines))


if __name__ == "__main__":
    main()
