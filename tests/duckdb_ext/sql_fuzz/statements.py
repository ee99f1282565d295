"""Statements with llm calls in every clause, written by a small grammar; their rows do not hang on chance."""

from __future__ import annotations

from hypothesis import strategies as st

from sql_fuzz.literals import quoted

_TEXTS = ["a 1", "b 2", "", "two 2", "it's", "日 7"]
_TEMPLATES = {1: ["{}", "<{}>", "a {} b", "{{x}} {}"], 2: ["{} {}", "{}: {}?"]}
_TYPED_OPTIONS = ["", "", "", "system := 'be brief'", "temperature := 0.5, seed := 1", "on_error => 'null'"]
_OPTIONS = [*_TYPED_OPTIONS, "max_tokens := 9"]


class Writer:
    """Writes expressions and queries over tables t (id, g, name, x) and w (id, label).

    Every query has `t` in scope. Expressions never fail: a failure's place would hang on the plan.
    """

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def pick(self, *options: str) -> str:
        return self._draw(st.sampled_from(options))

    def often(self, percent: int) -> bool:
        return self._draw(st.integers(0, 99)) < percent

    def call(self, function: str, depth: int, own: str = "") -> str:
        num = 1 if self.often(75) else 2
        values = [self.pick("text", "number")] + ["text"] * (num - 1)
        shown = [self.text(depth - 1) if kind == "text" else self.number(depth - 1) for kind in values]
        options = [
            each for each in (own, self.pick(*(_OPTIONS if function == "llm" else _TYPED_OPTIONS))) if each
        ]
        return f"{function}({', '.join([quoted(self.pick(*_TEMPLATES[num])), *shown, *options])})"

    def text(self, depth: int) -> str:
        kind = self.pick("column", "column", "literal") if depth <= 0 else self.pick(
            "column", "call", "call", "classify", "concat", "case", "coalesce", "upper", "scalar", "cast"
        )  # fmt: skip
        match kind:
            case "column":
                return self.pick("t.name", "t.g")
            case "literal":
                return quoted(self.pick(*_TEXTS))
            case "call":
                return self.call("llm", depth)
            case "classify":
                return self.call("llm_classify", depth, "choices := ['p', 'q 4', 'r']")
            case "concat":
                return f"({self.text(depth - 1)} || {self.text(depth - 1)})"
            case "case":
                return (
                    f"CASE WHEN {self.truth(depth - 1)} THEN {self.text(depth - 1)} ELSE {self.text(0)} END"
                )
            case "coalesce":
                return f"coalesce({self.text(0)}, {self.text(depth - 1)})"
            case "upper":
                return f"{self.pick('upper', 'trim', 'reverse')}({self.text(depth - 1)})"
            case "scalar":
                return f"(SELECT max({self.pick('label', self.call('llm', 0))}) FROM w WHERE w.id = t.id)"
        return f"({self.number(depth - 1)})::VARCHAR"

    def number(self, depth: int) -> str:
        kind = (
            self.pick("column", "literal")
            if depth <= 0
            else self.pick("column", "score", "plus", "length", "try")
        )
        match kind:
            case "column":
                return self.pick("t.id", "t.x")
            case "literal":
                return self.pick("0", "1", "2", "7", "NULL::INTEGER")
            case "score":
                return self.call("llm_score", depth, self.pick("", "lo := 1, hi := 5"))
            case "plus":
                return f"({self.number(depth - 1)} {self.pick('+', '-', '*')} {self.number(0)})"
            case "length":
                return f"length({self.text(depth - 1)})"
        return f"coalesce(TRY_CAST({self.text(depth - 1)} AS INTEGER), 0)"

    def truth(self, depth: int) -> str:
        kind = self.pick("compare", "null") if depth <= 0 else self.pick(
            "filter", "filter", "compare", "and", "or", "not", "null", "in", "exists", "between", "like"
        )  # fmt: skip
        match kind:
            case "filter":
                return self.call("llm_filter", depth)
            case "compare":
                return f"({self.number(depth - 1)} {self.pick('<', '=', '<>', '>=')} {self.number(0)})"
            case "and" | "or":
                return f"({self.truth(depth - 1)} {kind.upper()} {self.truth(depth - 1)})"
            case "not":
                return f"(NOT {self.truth(depth - 1)})"
            case "null":
                return f"({self.text(depth - 1)} IS {self.pick('', 'NOT ')}NULL)"
            case "in":
                return f"({self.text(depth - 1)} IN ('a', 'two 2', {self.text(0)}))"
            case "exists":
                return f"EXISTS (FROM w WHERE w.id = t.id AND {self.truth(depth - 1)})"
            case "between":
                return f"({self.number(depth - 1)} BETWEEN 1 AND {self.number(0)})"
        return f"({self.text(depth - 1)} LIKE '%{self.pick('o', '2', '')}%')"

    def source(self, depth: int) -> str:
        kind = self.pick("plain", "plain", "empty") if depth <= 0 else self.pick(
            "plain", "plain", "derived", "join", "left", "union", "first", "cross"
        )  # fmt: skip
        match kind:
            case "plain":
                return "t"
            case "empty":
                return "(FROM t WHERE false) t"
            case "derived":
                name = self.text(depth - 1)
                return f"(SELECT id, g, {name} AS name, x FROM t WHERE {self.truth(depth - 1)}) t"
            case "join":
                return f"t JOIN w ON t.id = w.id AND {self.truth(depth - 1)}"
            case "left":
                return f"t LEFT JOIN w ON t.id = w.id AND {self.truth(depth - 1)}"
            case "union":
                return "(FROM t UNION ALL FROM t) t"
            case "first":
                return "(FROM t ORDER BY id LIMIT 3) t"
        return "t, (SELECT unnest([1, 2]) AS k) n"

    def query(self, depth: int) -> str:
        where = f" WHERE {self.truth(depth)}" if self.often(50) else ""
        source = self.source(depth - 1)
        if self.often(25):
            having = f" HAVING count(*) {self.pick('>', '<')} 1" if self.often(30) else ""
            order = self.order()
            values = f"{self.text(depth)} AS k, count(*) AS n, max({self.number(1)}) AS m"
            return f"SELECT {values} FROM {source}{where} GROUP BY 1{having}{order}"
        num = self._draw(st.integers(1, 2))
        items = [self.pick(self.text(depth), self.number(1), self.truth(1)) for _ in range(num)]
        window = f", count(*) OVER (PARTITION BY {self.truth(1)}) AS part" if self.often(10) else ""
        distinct = "DISTINCT " if self.often(15) else ""
        listed = ", ".join(f"{item} AS c{i}" for i, item in enumerate(items))
        return f"SELECT {distinct}t.id, {listed}{window} FROM {source}{where}{self.order()}"

    def order(self) -> str:
        return f" ORDER BY ALL{self.pick('', ' LIMIT 2', ' LIMIT 1 OFFSET 1')}" if self.often(30) else ""

    def statement(self) -> str:
        query = self.query(self._draw(st.integers(1, 3)))
        kind = self.pick(
            "query", "query", "query", "query", "cte", "derived", "union", "view", "create", "insert",
            "update", "delete", "explain", "prepare", "summarize", "two", "copy", "macro", "describe",
        )  # fmt: skip
        match kind:
            case "query":
                return query
            case "cte":
                kept = self.pick("", "MATERIALIZED ", "NOT MATERIALIZED ")
                return f"WITH c AS {kept}({query}) SELECT a.* FROM c a, c b"
            case "derived":
                return f"SELECT count(*), count(COLUMNS(*)) FROM ({query})"
            case "union":
                return f"({query}) {self.pick('UNION', 'UNION ALL')} BY NAME ({self.query(1)})"
            case "view":
                return f"CREATE OR REPLACE VIEW seen AS {query}; FROM seen"
            case "create":
                return f"CREATE OR REPLACE TABLE made AS {query}; FROM made"
            case "insert":
                return f"INSERT INTO w SELECT id, {self.text(2)} FROM t; FROM w"
            case "update":
                return f"UPDATE t SET name = {self.text(2)} WHERE {self.truth(2)}; FROM t"
            case "delete":
                return f"DELETE FROM t WHERE {self.truth(2)}; FROM t"
            case "explain":
                return f"EXPLAIN {query}"
            case "prepare":
                return f"PREPARE q AS {query}; EXECUTE q"
            case "summarize":
                return f"SELECT column_name, column_type, count FROM (SUMMARIZE {query})"
            case "two":
                return f"{self.query(1)}; {query}"
            case "copy":
                return f"COPY ({query}) TO 'out.parquet' (FORMAT parquet); FROM 'out.parquet'"
            case "macro":
                return f"CREATE OR REPLACE TEMP MACRO asked() AS TABLE {query}; FROM asked()"
        return f"DESCRIBE {query}"


@st.composite
def statements(draw: st.DrawFn) -> str:
    """A statement, or several."""
    return Writer(draw).statement()
