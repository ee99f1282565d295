"""`FROM llm_top(..)` and `FROM llm_rerank(..)`: the first few rows of a table, as a model orders them.

Table macros in plain SQL over the llm functions. Functions have their catalog and schema before them, as in
all macros here.
"""

from __future__ import annotations

from relserve_duckdb.text.call_limits import RERANK
from relserve_duckdb.udf.similar_macro import cosine, count, model_name, vector

MOST_ROWS = 10  # where a call says no k
NUM_CANDIDATES = 50  # rows that llm_rerank asks about, where a call says nothing
RELEVANCE = "Does this text answer the query?\nQuery: {}\nText: {}"


def top() -> str:
    """The parameters and the body of llm_top. Rows of equal values have equal ranks."""
    ranked = "temp.main.llm_rank(prompt, value, k := k, model := model)"
    rank = "system.main.list_position((SELECT first_ones FROM __llm_ranked), value::VARCHAR)"
    return f"""(data, prompt, value, k := {MOST_ROWS}, model := NULL) AS TABLE
        WITH __llm_ranked AS MATERIALIZED (
            SELECT {ranked} AS first_ones FROM system.main.query_table(data)
        )
        SELECT * EXCLUDE (__llm_rank), __llm_rank AS rank
        FROM (SELECT *, {rank} AS __llm_rank FROM system.main.query_table(data))
        WHERE __llm_rank IS NOT NULL ORDER BY __llm_rank"""


def rerank() -> str:
    """The parameters and the body of llm_rerank."""
    embeds = model_name(RERANK, "embed_model").given
    near, given = (vector(name, embeds) for name in ("value", "wanted"))
    similarity = cosine(near, given, "value IS NOT NULL")
    k, among = count(RERANK, "k"), count(RERANK, "among")
    relevance = f"temp.main.llm_prob('{RELEVANCE}', wanted, value, model := model)"
    return f"""(data, value, wanted, k := {MOST_ROWS}, among := {NUM_CANDIDATES}, model := NULL,
            embed_model := NULL) AS TABLE
        WITH __llm_near AS MATERIALIZED (
            SELECT *, {similarity} AS __llm_similarity FROM system.main.query_table(data)
            WHERE {k.check} AND {among.check} ORDER BY __llm_similarity DESC NULLS LAST LIMIT {among.value}
        ), __llm_read AS (SELECT *, {relevance} AS __llm_relevance FROM __llm_near)
        SELECT * EXCLUDE (__llm_similarity, __llm_relevance), __llm_similarity AS similarity,
            __llm_relevance AS relevance
        FROM __llm_read ORDER BY __llm_relevance DESC NULLS LAST, __llm_similarity DESC NULLS LAST
        LIMIT {k.value}"""
