"""Every answer that the grammar accepts becomes SQL that DuckDB binds: random walks over schemas."""

from __future__ import annotations

import functools
import random
from typing import Any

import duckdb
import pytest

from relserve.linking.joins import routes
from relserve.linking.pointer import ANSWER_WORDS, HANDLES, pointer_prompt, sql_of
from relserve.linking.schema import Column, ColumnKind, Reference, Schema, Table, quoted
from relserve.linking.values import SchemaValues
from tests.modules import later

xgrammar = later("xgrammar")

WORDS = ["</s>", *(f"{word} " for word in dict.fromkeys((*ANSWER_WORDS, *HANDLES)))]
NAMES = [
    "select",
    "Order",
    'say "hi"',
    "two words",
    "größe",
    "a.b",
    "group",
    "UPPER",
    "x'y",
    "1st",
    "naïve;--",
    "c0",
    "名前",
]
TYPES = {
    ColumnKind.TEXT: ("VARCHAR", "ENUM('a', 'b''c')"),
    ColumnKind.INT: ("INTEGER", "UBIGINT", "HUGEINT", "TINYINT"),
    ColumnKind.NUM: ("DOUBLE", "DECIMAL(9, 2)", "FLOAT"),
    ColumnKind.DATE: ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S"),
    ColumnKind.BOOL: ("BOOLEAN",),
    ColumnKind.OTHER: ("INTEGER[]", "STRUCT(a INTEGER)", "UUID", "TIME", "BLOB", "INTERVAL"),
}
QUESTION = (
    "a 'b''c' \"100%\" before 2020-02-29 or May 2021 or 1999 top 3 between -2.5 and 12345678901234567890"
)


@functools.cache
def compiler() -> Any:
    """Of grammars over the words of pointer answers."""
    vocabulary = xgrammar.TokenizerInfo(
        WORDS, vocab_type=xgrammar.VocabType.RAW, vocab_size=len(WORDS), stop_token_ids=[0]
    )
    return xgrammar.GrammarCompiler(vocabulary)


def table(chance: random.Random, name: str, others: list[str]) -> Table:
    columns = [Column("id", ColumnKind.INT, "INTEGER")]
    for column in chance.sample(NAMES, chance.randint(1, 5)):
        kind = chance.choice(list(ColumnKind))
        columns.append(Column(column, kind, chance.choice(TYPES[kind]), values=("a", "b'c")))
    columns += [
        Column(f"{other} id", ColumnKind.INT, "INTEGER", references=Reference(other, "id"))
        for other in others
    ]
    return Table(name, tuple(columns), key=("id",))


def schema(seed: int) -> Schema:
    chance = random.Random(seed)
    names = chance.sample(NAMES, chance.randint(1, 5))
    return Schema(
        tuple(table(chance, name, chance.sample(names[:at], min(at, 1))) for at, name in enumerate(names))
    )


def database(of: Schema) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    for each in of.tables:
        columns = ", ".join(f"{quoted(column.name)} {column.sql_type}" for column in each.columns)
        con.execute(f"CREATE TABLE {each.sql_name} ({columns})")
        con.execute(f"INSERT INTO {each.sql_name} (id) VALUES (1)")
    return con


def walk(grammar: xgrammar.CompiledGrammar, chance: random.Random) -> str:
    matcher = xgrammar.GrammarMatcher(grammar)
    mask = xgrammar.allocate_token_bitmask(1, len(WORDS))
    words = []
    while not matcher.is_terminated():
        matcher.fill_next_token_bitmask(mask)
        allowed = [at for at in range(len(WORDS)) if mask[0, at // 32].item() >> (at % 32) & 1]
        chosen = chance.choice(allowed)
        assert matcher.accept_token(chosen)
        words.append(WORDS[chosen])
    return "".join(words[:-1]).strip()


@pytest.mark.cells(2)
@pytest.mark.parametrize("seed", range(8))
def test_every_answer_of_the_grammar_binds(seed):
    chance = random.Random(seed)
    of = schema(seed)
    prompt = pointer_prompt(of, QUESTION, SchemaValues(of), chance)
    con, grammar = database(of), compiler().compile_grammar(prompt.grammar)
    for _ in range(40):
        answer = walk(grammar, chance)
        con.execute(sql_of(answer, prompt)).fetchall()


def accepts(grammar: str, answer: str) -> bool:
    matcher = xgrammar.GrammarMatcher(compiler().compile_grammar(grammar))
    return all(
        matcher.accept_token(WORDS.index(f"{word} ")) for word in answer.split()
    ) and matcher.accept_token(0)


@pytest.fixture(scope="module")
def people() -> str:
    teams = Table(
        "teams",
        (Column("id", ColumnKind.INT, "INTEGER"), Column("name", ColumnKind.TEXT, "VARCHAR")),
        key=("id",),
    )
    players = Table(
        "players",
        (
            Column("name", ColumnKind.TEXT, "VARCHAR"),
            Column("age", ColumnKind.INT, "INTEGER"),
            Column("born", ColumnKind.DATE, "DATE"),
            Column("active", ColumnKind.BOOL, "BOOLEAN"),
            Column("team_id", ColumnKind.INT, "INTEGER", references=Reference("teams", "id")),
        ),
    )
    of = Schema((teams, players))
    return pointer_prompt(
        of, "players of teams over 20 named 'Ann' born after 2001-01-01 or in 1999", SchemaValues(of)
    ).grammar


@pytest.mark.parametrize(
    "answer",
    [
        "select * from t1 where c3 > v0 and c2 = v1",
        "select c2 , c1 from t1 join t0 where c4 > v2 order by c3 desc limit v0",
        "select c1 , count ( * ) from t1 join t0 group by c1 having count ( * ) > v0 order by count ( * ) "
        "desc limit 1",
        "select avg ( c3 ) , max ( c4 ) from t1 where year ( c4 ) = v3 or contains ( c2 , v1 )",
        "select distinct c2 from t1 where c5 = false and c3 between v0 and v0 order by c2",
        "select year ( c4 ) , count ( * ) from t1 group by year ( c4 )",
        "select count ( distinct c2 ) from t1 where c4 is not null",
    ],
)
def test_the_grammar_accepts(people, answer):
    assert accepts(people, answer)


@pytest.mark.parametrize(
    "answer",
    [
        "select c2 , count ( * ) from t1",
        "select c1 from t1",
        "select * from t1 where c3 = v1",
        "select * from t1 where c2 > v1",
        "select * from t1 where c4 > v0",
        "select avg ( c2 ) from t1",
        "select sum ( c6 ) from t1",
        "select * from t0 join t1",
        "select * from t1 limit v1",
        "select c2 , c2 , c2 , c2 , c2 from t1",
        "select c2 from t1 group by c2 having max ( c4 ) > v0",
    ],
)
def test_the_grammar_refuses(people, answer):
    assert not accepts(people, answer)


@pytest.mark.parametrize(
    ("question", "accepted", "refused"),
    [
        ("how many players are there", "select count ( * ) from t0", "select count ( * ) from t0 join t1"),
        ("which teams are there", "select c3 from t1", "select c1 from t0"),
        ("age of the players of each team", "select c0 , c3 from t0 join t1", None),
        ("how many are there", "select count ( * ) from t1", None),
    ],
)
def test_only_tables_that_the_question_may_be_about_are_read(question, accepted, refused):
    players = Table(
        "players",
        (
            Column("age", ColumnKind.INT, "INTEGER"),
            Column("squad", ColumnKind.INT, "INTEGER", references=Reference("teams", "id")),
        ),
    )
    teams = Table(
        "teams",
        (Column("id", ColumnKind.INT, "INTEGER"), Column("label", ColumnKind.TEXT, "VARCHAR")),
        key=("id",),
    )
    of = Schema((players, teams))
    grammar = pointer_prompt(of, question, SchemaValues(of)).grammar
    assert accepts(grammar, accepted)
    assert refused is None or not accepts(grammar, refused)


def test_two_tables_over_a_bridge_are_a_from_clause():
    link = Table(
        "plays",
        (
            Column("actor_id", ColumnKind.INT, "INTEGER", references=Reference("actors", "id")),
            Column("film_id", ColumnKind.INT, "INTEGER", references=Reference("films", "id")),
        ),
    )
    ends = [
        Table(name, (Column("id", ColumnKind.INT, "INTEGER"),), key=("id",)) for name in ("actors", "films")
    ]
    of = Schema((ends[0], link, ends[1]))
    assert set(routes(of)) == {(1, 0), (1, 2), (0, 2)}
    assert accepts(
        pointer_prompt(of, "films of actors", SchemaValues(of)).grammar, "select c3 from t0 join t2"
    )
