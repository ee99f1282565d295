"""Calls of all tools, and what their answers hold."""

from __future__ import annotations

from typing import Any

from tests.server.mcp.agents import COUNT

Call = tuple[str, dict[str, Any], str]  # tool, arguments, and what its answer holds
CALLS: list[Call] = [
    ("list_tables", {}, '{"name": "reviews", "kind": "table", "rows": 500, "comment": "of customers"}'),
    ("list_tables", {}, r'{"name": "side.\"odd name\"", "kind": "table"'),
    ("list_tables", {}, '{"name": "good", "kind": "view", "rows": null'),
    ("describe", {"table": "reviews"}, '"type": "DECIMAL(4,2)"'),
    ("describe", {"table": "REVIEWS"}, '"examples": ["review 0"'),
    ("describe", {"table": "good"}, '"name": "review"'),
    ("describe", {"table": 'side."odd name"'}, '"name": "one", "type": "INTEGER"'),
    ("describe", {"table": "revews"}, "there is no table 'revews'; the nearest are reviews"),
    ("describe", {"table": "reviews; DROP TABLE reviews"}, "there is no table"),
    ("query", {"sql": "SELECT count(*) AS n FROM reviews;"}, '"rows": [[500]], "more_rows": false'),
    (
        "query",
        {"sql": "FROM reviews ORDER BY id -- all", "max_rows": 1},
        '0, "2025-01-01", "1.50"]], "more_rows": true',
    ),
    ("query", {"sql": 'SELECT twice(one) FROM side."odd name"'}, '"rows": [[2]]'),
    ("query", {"sql": "SELECT [1, NULL] a, {'b': 'c'} s, 'x'::BLOB z"}, '[[[1, null], {"b": "c"}, "eA=="]]'),
    ("query", {"sql": "SELECT sum(stars) FROM good GROUP BY day LIMIT 3"}, "[[4], [4], [4]]"),
    (
        "query",
        {"sql": "SELECT llm_filter('Good? {review}', review) FROM reviews", "max_rows": 2},
        '"asked": {"rows": 3,',
    ),
    (
        "query",
        {"sql": "SELECT llm_classify('{review}', review, choices := ['a']) AS c FROM good LIMIT 1"},
        '[["a"]]',
    ),
    (
        "query",
        {"sql": "SELECT llm_agg('Sum up {review}', review) FROM good WHERE id < 9"},
        '"more_rows": false',
    ),
    ("query", {"sql": "SELECT count(llm('{i}', i)) FROM range(2000) t(i)"}, "max_rows := 1,000"),
    (
        "query",
        {"sql": "SELECT llm('{i}', i, model := 'http://127.0.0.1:9/v1') FROM range(1) t(i)"},
        "may not ask the model",
    ),
    ("query", {"sql": "SELECT fail FROM reviews"}, 'Referenced column "fail" not found'),
    ("query", {"sql": "SELECT llm('broken {review}', review) FROM good LIMIT 1"}, "1 of 1 rows failed"),
    ("query", {"sql": "INSERT INTO reviews SELECT * FROM reviews"}, "one SELECT, and this is INSERT"),
    ("query", {"sql": "SELECT 1", "max_rows": 0}, "greater than or equal to 1"),
    ("explain", {"sql": "SELECT llm('Say {review}', review) FROM reviews"}, '"distinct_prompts": 500'),
    ("explain", {"sql": "SELECT 1"}, "no llm call asks anything"),
    ("explain", {"sql": "DELETE FROM reviews"}, "one SELECT, and this is DELETE"),
    ("ask", {"question": COUNT, "effort": "quick"}, '"rows": [[500]]'),
    ("ask", {"question": "What else?", "tables": ["reviews"]}, "the model wrote no SQL"),
    (
        "classify_column",
        {"table": "reviews", "column": "Review", "choices": ["x", "y"], "max_rows": 5},
        '"labels": [{"label"',
    ),
    (
        "classify_column",
        {"table": "reviews", "column": "x", "choices": ["x", "y"]},
        "has no column 'x'; it has: id, review",
    ),
]
