"""`make lint`: no Python file over 350 lines."""

import subprocess
import sys
from pathlib import Path

LIMIT = 350


def main() -> int:
    """List the files over the limit; status 1 if there is one."""
    listed = subprocess.run(["git", "ls-files", "*.py"], capture_output=True, text=True, check=True).stdout
    sizes = {path: len(Path(path).read_text(encoding="utf-8").splitlines()) for path in listed.split()}
    long = {path: lines for path, lines in sizes.items() if lines > LIMIT}
    for path, lines in long.items():
        sys.stderr.write(f"{path}: {lines} lines, the limit is {LIMIT}\n")
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
