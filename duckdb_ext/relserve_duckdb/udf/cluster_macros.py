"""`FROM llm_cluster(..)` and `FROM llm_topics(..)`: each row of a table with the group of its meaning.

Table macros over llm_embed, a UDF that gets the vectors of all rows at once, and for topics llm and llm_agg.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from relserve.call.vector_text import text_of_vector
from relserve.errors import UsageError
from relserve.session.clusters import MOST_CLUSTERS, Clusters, find_clusters
from relserve_duckdb.text.call_limits import TOPICS
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.similar_macro import count, model_name, template, vector

CLUSTER = "llm_cluster"
# Key, k, and each distinct text with its vector and how many rows have it.
PARAMETERS = ["BIGINT", "BIGINT", "STRUCT(label VARCHAR, vector FLOAT[], num_rows BIGINT)[]"]
ROW = pa.struct([("label", pa.string()), ("number", pa.int64()), ("place", pa.int64())])
ABOUT = "Summarise in one sentence: {}"
NAMED = "Sum up what these texts have in common, in a few words: {}"
NUM_TYPICAL = 5  # members that tell the name of a topic
MADE_UP = text_of_vector([1.0])  # of it a dry run gets as many clusters as there may be


def cluster(udf_name: str, key: str) -> str:
    """The parameters and the body of llm_cluster."""
    texts = f"SELECT value::VARCHAR AS label, {vector('value')} AS v FROM system.main.query_table(data)"
    return f"""(data, value, k := NULL, model := NULL) AS TABLE {_found(CLUSTER, texts, udf_name, key)}
        SELECT d.* EXCLUDE (__llm_text), f.number AS cluster FROM (
            SELECT *, value::VARCHAR AS __llm_text FROM system.main.query_table(data)
        ) d LEFT JOIN __llm_found f ON d.__llm_text = f.label"""


def topics(udf_name: str, key: str) -> str:
    """The parameters and the body of llm_topics."""
    about, named = (text.replace("'", "''") for text in (ABOUT, NAMED))
    asked = template(TOPICS, "about", takes_null=True).given
    told = f"CASE WHEN about IS NULL THEN t ELSE temp.main.llm({asked}, t, model := model) END"
    vectors = vector("told", model_name(TOPICS, "embed_model").given)
    texts = f"SELECT told AS label, {vectors} AS v FROM __llm_told"
    name = f"temp.main.llm_agg({template(TOPICS, 'named').given}, label, model := model)"
    return f"""(data, value, k := NULL, about := '{about}', named := '{named}', model := NULL,
            embed_model := NULL) AS TABLE
        WITH __llm_told AS MATERIALIZED (
            SELECT t, {told} AS told FROM (SELECT value::VARCHAR AS t FROM system.main.query_table(data))
            WHERE {count(TOPICS, "k").check}
        ), {_found(TOPICS, texts, udf_name, key).removeprefix("WITH ")},
        __llm_names AS MATERIALIZED (
            SELECT number, {name} AS topic FROM __llm_found WHERE place <= {NUM_TYPICAL} GROUP BY number
        ), __llm_of AS MATERIALIZED (
            SELECT DISTINCT t, number, topic FROM __llm_told JOIN __llm_found ON told = label
            JOIN __llm_names USING (number)
        )
        SELECT d.* EXCLUDE (__llm_text), f.number AS cluster, f.topic FROM (
            SELECT *, value::VARCHAR AS __llm_text FROM system.main.query_table(data)
        ) d LEFT JOIN __llm_of f ON d.__llm_text = f.t"""


def _found(function: str, texts: str, udf_name: str, key: str) -> str:
    """A CTE of each distinct text with its cluster; `texts` gives a text and its vector a row."""
    k = count(function, "k")
    row = "system.main.struct_pack(label := label, vector := v, num_rows := num_rows)"
    return f"""WITH __llm_vectors AS MATERIALIZED (
            SELECT label, system.main.any_value(v) AS v, system.main.count(*) AS num_rows
            FROM ({texts}) WHERE {k.check} AND v IS NOT NULL GROUP BY label
        ), __llm_found AS MATERIALIZED (
            SELECT system.main.unnest({udf_name}({key}, {k.value}, rows), max_depth := 2)
            FROM (SELECT system.main.list({row}) AS rows FROM __llm_vectors)
        )"""


def clustered(state: ConnectionState, numbers: Sequence[int | None], rows: pa.Array) -> pa.Array:
    """The UDF: for each list of texts, one of the same texts with their clusters.

    Raises:
        UsageError: the call is wrong, which is kept in the state, too.
    """
    with state.noting_errors():
        is_dry = state.running() is None
        found = [_clustered(state, is_dry, k, each.values) for k, each in zip(numbers, rows, strict=True)]
    return pa.array(found, pa.list_(ROW))


def _clustered(state: ConnectionState, is_dry: bool, k: int | None, rows: Any) -> list[dict[str, Any]] | None:
    if rows is None or not len(rows):
        return None
    texts, num_rows = (rows.field(name).to_pylist() for name in ("label", "num_rows"))
    lists = rows.field("vector")
    lengths = set(lists.value_lengths().to_pylist())
    if len(lengths) != 1:
        raise UsageError(f"vectors of one length are needed, and here are some of {sorted(lengths)}")
    vectors = lists.flatten().to_numpy(zero_copy_only=False).reshape(len(texts), -1)
    if is_dry and lengths == {1} and (vectors == 1).all():
        num = min(k or MOST_CLUSTERS, len(texts))
        return [dict(label=text, number=i % num + 1, place=i // num + 1) for i, text in enumerate(texts)]
    key = hashlib.sha256(repr((k, texts, num_rows)).encode(errors="replace") + vectors.tobytes()).digest()
    known: dict[bytes, Clusters] = state.run.clusters
    if key not in known:  # a dry run has found them already
        known[key] = find_clusters(texts, vectors.astype(np.float32), num_rows, k)
    found = zip(texts, known[key].numbers.tolist(), known[key].places.tolist(), strict=True)
    return [dict(zip(("label", "number", "place"), each, strict=True)) for each in found]
