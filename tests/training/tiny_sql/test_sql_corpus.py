"""The questions that the embedded text2sql model is trained on."""

import pytest

from relserve.linking.names import schema_names
from relserve.linking.pointer import sql_of
from relserve.linking.schema import ColumnKind
from tests.modules import later
from training.tiny_sql.corpus.draft import MARKER
from training.tiny_sql.corpus.lexicon.common import WORDS
from training.tiny_sql.corpus.questions import SHAPES, example, packed
from training.tiny_sql.corpus.rows import database
from training.tiny_sql.corpus.words import is_held_out

xgrammar = later("xgrammar")

duckdb = pytest.importorskip("duckdb")

SEEDS = range(4)


@pytest.mark.cells(1)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_questions_whose_sql_runs_on_both_databases(shape):
    found = 0
    for seed in SEEDS:
        made = example(f"{shape} {seed}", held_out=seed % 2 == 1, shape=shape)
        assert made.shape == shape
        assert not MARKER.search(made.question)
        assert not set("{}[]|*").intersection(_without_values(made)), made.question
        sql = sql_of(made.answer, made.prompt)
        for number in (0, 1):
            rows = _connection(made, f"{seed} {number}").execute(sql).fetchall()
            found += bool(rows)
    assert found > len(SEEDS)  # more than half of all results hold rows


def _without_values(made):
    text = made.question
    for value in made.prompt.values:
        text = text.replace(value.text, "")
    return text.lower().replace("select * from", "").replace("count(*)", "")


def _connection(made, seed):
    con = duckdb.connect()
    rows = database(made.prompt.schema, made.prompt.values, seed, num_rows=30)
    for table in made.prompt.schema.tables:
        columns = ", ".join(f'"{column.name}" {column.sql_type}' for column in table.columns)
        con.execute(f"CREATE TABLE {table.sql_name} ({columns})")
        places = f"({', '.join('?' for _ in table.columns)})"
        values = [value for row in rows[table.name] for value in row]
        con.execute(
            f"INSERT INTO {table.sql_name} VALUES {', '.join([places] * len(rows[table.name]))}", values
        )
    return con


def test_the_same_seed_gives_the_same_example():
    one, other = example("seed"), example("seed")
    assert (one.question, one.prompt.text, one.answer) == (other.question, other.prompt.text, other.answer)
    assert packed("seed") == packed("seed")
    assert example("seed").question != example("another seed").question


@pytest.mark.long
def test_every_answer_is_accepted_by_the_grammar_of_its_prompt():
    words = [*_answer_words(), "</s>"]
    info = xgrammar.TokenizerInfo(words, stop_token_ids=[len(words) - 1])
    compiler = xgrammar.GrammarCompiler(info, cache_enabled=False)
    for shape in SHAPES:
        for seed in range(3):
            made = example(f"grammar {shape} {seed}", shape=shape)
            matcher = xgrammar.GrammarMatcher(compiler.compile_grammar(made.prompt.grammar))
            assert matcher.accept_string(made.answer + " "), (made.question, made.answer)
            assert matcher.accept_token(len(words) - 1), (made.question, made.answer)


def _answer_words():
    return [chr(number) for number in range(32, 127)]


def test_held_out_words_never_occur_in_training_schemas():
    common = {word for word in WORDS if is_held_out(word)}
    for seed in range(120):
        for table in example(f"words {seed}", shape="list").schema.tables:
            for column in table.columns:
                fresh = set(column.words) & common
                assert not fresh - LEXICON, (column.words, fresh)


def _lexicon():
    from training.tiny_sql.corpus.lexicon import columns, tables

    names = (*columns.TEXT, *columns.INT, *columns.NUM, *columns.DATE, *columns.BOOL)
    names += (*tables.THINGS, *tables.PEOPLE, *tables.BRIDGES, *tables.MODIFIERS)
    return {word for name in names for word in name.split("_")}


LEXICON = _lexicon()


def test_packed_questions_share_a_schema_and_its_handles():
    made = packed("several", k=4)
    assert len(made.questions) == 4
    for question, answer in made.questions:
        assert question.startswith(" ? ")
        assert question.endswith(" =>")
        for word in answer.split():
            if word[0] in "ct" and word[1:].isdigit():
                assert f" {word} " in f" {made.schema} "


def test_a_database_for_judging_holds_the_values_of_the_question():
    for seed in range(20):
        made = example(f"values {seed}", shape="lookup")
        rows = database(made.prompt.schema, made.prompt.values, "rows")
        texts = {cell for table in rows.values() for row in table for cell in row if isinstance(cell, str)}
        asked = [value for value in made.prompt.values if value.is_text]
        assert any({value.text, *(hit.value for hit in value.hits)} & texts for value in asked)


def test_other_seeds_give_other_rows_and_references_find_their_rows():
    made = example("joined", shape="join_list")
    schema = made.prompt.schema
    one, other = database(schema, (), "a"), database(schema, (), "b")
    assert one != other
    for table, column in schema.columns:
        if column.references is None:
            continue
        at = [each.name for each in table.columns].index(column.name)
        target = schema.table(column.references.table)
        key = [each.name for each in target.columns].index(column.references.column)
        keys = {row[key] for row in one[target.name]}
        assert {row[at] for row in one[table.name]} <= keys | {None}


@pytest.mark.long
def test_values_that_the_database_does_not_have_are_asked_for_too():
    texts = [example(f"unknown {seed}", shape="filter") for seed in range(150)]
    asked = [value for made in texts for value in made.prompt.values if value.is_text]
    unknown = [value for value in asked if not value.hits]
    assert len(asked) * 0.1 < len(unknown) < len(asked) * 0.6


def test_kinds_of_columns_are_all_asked_about():
    kinds = set()
    for seed in range(100):
        made = example(f"kinds {seed}", shape="filter")
        handles = set(made.answer.split())
        for handle, (_, column) in zip(made.prompt.handles.columns, made.prompt.schema.columns, strict=True):
            if handle in handles:
                kinds.add(column.kind)
    assert kinds == {ColumnKind.TEXT, ColumnKind.INT, ColumnKind.NUM, ColumnKind.DATE, ColumnKind.BOOL}


def test_the_column_that_names_a_row_is_the_one_that_the_prompt_marks():
    for seed in range(60):
        schema = example(f"names {seed}", shape="list").schema
        marked = set(schema_names(schema.schema).naming)
        named = {table.name_column.position for table in schema.tables if table.name_column is not None}
        assert named == marked
