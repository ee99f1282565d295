"""Tables of an evaluation as people read them: a share with its interval in one cell, no empty columns."""

from __future__ import annotations

import pyarrow as pa

SHORT = {
    "null_answers": "NULL", "commonest_label": "commonest", "macro_f1": "macro F1", "f1": "F1",
    "mean_absolute_error": "mean error", "prompt_tokens": "tokens in", "output_tokens": "tokens out",
    "both_right": "both right", "only_first": "only first", "only_second": "only second",
    "both_wrong": "both wrong", "p_value": "p-value",
}  # fmt: skip
LEFT_OUT = ("prompts",)


def for_people(table: pa.Table) -> pa.Table:
    """The columns in which something stands, those of a share and its ends as one."""
    names = table.column_names
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for name in names:
        is_end = name.endswith(("_low", "_high"))
        if is_end or name in LEFT_OUT or table.column(name).null_count == table.num_rows:
            continue
        if f"{name}_low" in names:
            columns[name] = pa.array(
                [_share(*ends) for ends in zip(*(_values(table, name + end) for end in ENDS), strict=True)]
            )
        else:
            columns[name] = table.column(name)
    return pa.table(list(columns.values()), names=[SHORT.get(name, name) for name in columns])


ENDS = ("", "_low", "_high")


def _values(table: pa.Table, name: str) -> list[float | None]:
    values: list[float | None] = table.column(name).to_pylist()
    return values


def _share(value: float | None, low: float | None, high: float | None) -> str | None:
    """Such as "0.42 (0.29 to 0.56)", None where there is no share."""
    return None if value is None else f"{value:.2f} ({low:.2f} to {high:.2f})"
