"""Lets these tests import the servers of tests/engines, which import each other by their short names."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "engines"))
