"""What an llm call may be given, told before anything runs and once more where only DuckDB can tell."""

from __future__ import annotations

from relserve.call.options import FUNCTIONS

MAX_VALUES = 8  # values a call may give after its template
AGGREGATE = "llm_agg"
AGGREGATE_LIST = "llm_agg_list"  # the same over a list: what llm_agg with ORDER BY and the like runs as
RANK = "llm_rank"
RANK_LIST = "llm_rank_list"
LISTS = {AGGREGATE: AGGREGATE_LIST, RANK: RANK_LIST}
TEXT2SQL_QUERY = "text2sql_query"
TOP, RERANK, TOPICS = "llm_top", "llm_rerank", "llm_topics"
ASKING_TABLES = (TOP, RERANK, TOPICS)  # table macros whose bodies call llm functions
CALLED = (*FUNCTIONS, TEXT2SQL_QUERY)  # whose calls ask a model, row by row
ASCENDING = "ascending"  # its argument that puts the values in order


def too_many_values(function: str) -> str:
    return f"{function}() takes at most {MAX_VALUES} values after the template"


def one_value_only(function: str, num_values: int) -> str:
    return (
        f"{function}() takes one value after the template, the column to aggregate, not {num_values}; "
        f"put several into one: {function}('{{}}', concat_ws(', ', a, b))"
    )


def only_in_a_text(function: str) -> str:
    return (
        f"{function}() takes DISTINCT, ORDER BY and FILTER in SQL that this connection runs, written "
        f"{function}('template', value ..), not behind a dot. A view or macro made elsewhere has to be made "
        "again here, with CREATE OR REPLACE"
    )


def varying_template(function: str) -> str:
    return (
        f"the template of {function}() must be the same for all rows; "
        f"give what varies as a value: {function}('{{}}', column)"
    )


def varying_option(function: str) -> str:
    return f"{function}(): an option must be the same for all rows of a call"
