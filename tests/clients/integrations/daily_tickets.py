"""The example of docs/integrations.md for Dagster, as it stands there: materialized twice."""

from typing import Any

import dagster as dg
from ticket_shop import PAGE, add_tickets, example, kinds

names: dict[str, Any] = {}
exec(compile(example("Dagster"), str(PAGE), "exec"), names)
asset = names["ticket_kinds"]


def asked() -> int:
    done = dg.materialize([asset], instance=dg.DagsterInstance.ephemeral())
    assert done.success
    (event,) = done.asset_materializations_for_node("ticket_kinds")
    return event.metadata["asked"].value


add_tickets(range(20))
assert asked() == 20
add_tickets(range(20, 23))
assert asked() == 3
assert sum(kinds().values()) == 23
assert set(kinds()) <= {"complaint", "praise"}
print("ok")
