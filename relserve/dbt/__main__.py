"""`python -m relserve.dbt` prints the folder of the dbt package, for packages.yml."""

from __future__ import annotations

import sys

from relserve.dbt import PROJECT

if __name__ == "__main__":
    sys.stdout.write(f"{PROJECT}\n")
