"""The functions that a query under the grammar may call: none reads anything but its arguments."""

from __future__ import annotations

AGGREGATES = (
    "count sum avg min max median mode stddev stddev_pop stddev_samp variance var_pop var_samp first last "
    "any_value arg_max arg_min bool_and bool_or quantile_cont quantile_disc string_agg corr count_if "
    "approx_count_distinct"
).split()
WINDOWS = (
    "row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value"
).split()
SCALARS = (
    "abs ceil ceiling floor round sqrt power pow exp ln log log10 log2 mod sign greatest least coalesce "
    "lower upper length trim ltrim rtrim left right substring substr replace reverse concat "
    "concat_ws contains starts_with ends_with strpos instr split_part lpad rpad regexp_matches "
    "regexp_replace regexp_extract year quarter month week day dayofweek dayofyear hour minute second "
    "dayname monthname date_part date_trunc date_diff datediff date_add date_sub last_day make_date age "
    "strftime strptime epoch"
).split()
TYPES = (
    "INTEGER INT BIGINT SMALLINT DOUBLE FLOAT REAL VARCHAR TEXT DATE TIMESTAMP TIME BOOLEAN DECIMAL"
).split()
UNITS = "YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND".split()


def both_cases(names: list[str]) -> list[str]:
    """The names in small and in capital letters."""
    return [spelt for name in names for spelt in (name.lower(), name.upper())]
