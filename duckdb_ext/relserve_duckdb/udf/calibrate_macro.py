"""`FROM llm_calibrate(table, probability, truth, name := ..)`: fits a calibration and keeps it, as one row.

A table macro over a UDF. The probabilities are a call of llm_prob or llm_probs, which is asked as in any
other statement; the UDF gets those of all rows at once, with their labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from relserve.call.checks import plain_name
from relserve.call.relquery import CallSite
from relserve.errors import ForbiddenError, UsageError
from relserve.session.calibrated_calls import (
    CalibrationReport,
    calibrate,
    can_be_calibrated,
    probabilities_of,
    truth_of,
    wanted_label,
)
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.statement_run import StatementRun

CALIBRATE = "llm_calibrate"
# Key, name, and of each row its probabilities in JSON and its label.
PARAMETERS = ["BIGINT", "VARCHAR", "STRUCT(given VARCHAR, wanted VARCHAR)[]"]
Labelled = list[dict[str, str]]
ROW = pa.struct({
    "name": pa.string(), "method": pa.string(), "rows": pa.int64(), "brier_before": pa.float64(),
    "brier_after": pa.float64(), "error_before": pa.float64(), "error_after": pa.float64(),
})  # fmt: skip


def definition(udf_name: str, key: str) -> str:
    """The parameters and the body of the macro."""
    return f"""(data, probability, truth, name := NULL) AS TABLE WITH asked AS MATERIALIZED (
            SELECT probability AS given, truth AS wanted
            FROM system.main.query_table(data) WHERE truth IS NOT NULL
        ), listed AS (
            SELECT system.main.list(system.main.struct_pack(
                       given := system.main.to_json(given)::VARCHAR, wanted := wanted::VARCHAR)) AS found
            FROM asked WHERE given IS NOT NULL
        ), fitted AS (SELECT {udf_name}({key}, name::VARCHAR, found) AS figures FROM listed)
        SELECT system.main.unnest(figures) FROM fitted"""


def calibrated(
    state: ConnectionState, names: Sequence[str | None], labelled: Sequence[Labelled | None]
) -> pa.Array:
    """The UDF: one row of figures each; NULL in a dry run.

    Raises:
        UsageError, ForbiddenError: the call is wrong, which is kept in the state, too.
    """
    with state.noting_errors():
        run = state.running()
        figures = [
            None if run is None else _calibrated(state, run, name, rows or []).row
            for name, rows in zip(names, labelled, strict=True)
        ]
    return pa.array(figures, ROW)


def _calibrated(
    state: ConnectionState, run: StatementRun, name: str | None, labelled: Labelled
) -> CalibrationReport:
    if not state.session.keeps_calibrations:
        raise ForbiddenError(
            f"{CALIBRATE}() writes a file of this server; whoever runs it makes one with relserve calibrate "
            "decisions"
        )
    if name is None:
        raise UsageError(f"{CALIBRATE}() needs name := 'praise', under which the calibration is kept")
    plain_name("name", name)
    sites = [site for site in run.asked if isinstance(site, CallSite) and can_be_calibrated(site)]
    if len(sites) != 1:
        raise UsageError(
            f"{CALIBRATE}('table', llm_prob('.. {{}}', column), truth, name := '{name}') takes one call of "
            f"llm_prob or llm_probs, which asks about a row at least; here are {len(sites)}"
        )
    (site,) = sites
    truths = [_truth_of(site, row["wanted"]) for row in labelled]
    probabilities = [probabilities_of(site, row["given"]) for row in labelled]
    _check_untouched(run, site, probabilities)
    engine = state.session.find_engine(site.options.model)
    return calibrate(name, site, engine, probabilities, truths, run.cancel)


def _check_untouched(run: StatementRun, site: CallSite, probabilities: Sequence[Sequence[float]]) -> None:
    """See that the probabilities are answers of the call: 1 - llm_prob(..) looks like some, too.

    Raises:
        UsageError: one is none.
    """
    answers = run.memo.known(site).values() if run.memo.keeps else ()
    told = {tuple(probabilities_of(site, answer)) for answer in answers if answer is not None}
    for each in probabilities if told else ():
        if tuple(each) not in told:  # JSON keeps every digit
            raise UsageError(
                f"{each[0]!r} is no answer of {site.function}() but was made of one, such as by 1 - ..: "
                "calibrate the call itself, with nothing around it"
            )


def _truth_of(site: CallSite, label: str) -> int:
    try:
        return truth_of(site, label)
    except ValueError:
        raise UsageError(f"a label must be {wanted_label(site)}, not {label!r}") from None
