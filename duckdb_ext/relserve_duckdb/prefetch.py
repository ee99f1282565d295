from __future__ import annotations
from typing import Any
def run_statements(con, variables, query, parameters):
    variables.call(con.raw.execute, query, parameters)
