"""Candidates of a model that points at columns, tables and values by handles; code writes the SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from relserve.call.answer_types import Grammar
from relserve.call.template import Template
from relserve.linking.lexicon import STOP
from relserve.linking.pieces import Linked
from relserve.linking.plain_words import SHARES
from relserve.linking.pointer import (
    PointerPrompt,
    columns_left_out,
    linked_question,
    pointer_prompt,
    sql_of,
    values_left_out,
)
from relserve.linking.schema import NUMBERS, Column, ColumnKind, Schema, Table
from relserve.linking.sql import PointerError
from relserve.linking.unlinked import unlinked_words
from relserve.linking.words import folded, identifier_words, plural, stem
from relserve.text2sql.cases.case import QuestionCase, SqlCandidate, UnlinkedWords
from relserve.text2sql.cases.tools import StagePrompt, Tools
from relserve.text2sql.stages.llm_readings import llm_reading

MAX_TOKENS = 64
TEMPLATE = Template.parse("{prompt}")
_MOST_SUGGESTED = 3  # questions
_QUOTES = re.compile("['\"]")


def point(cases: Sequence[QuestionCase], tools: Tools) -> None:
    """Ask each question under several shuffles of the handles, each with its own grammar, in one relQuery."""
    prompts = [(case, prompt) for case in cases for prompt in _prompts(case, tools)]
    asks = [
        StagePrompt(case, {"prompt": prompt.text}, Grammar(ebnf=prompt.grammar)) for case, prompt in prompts
    ]
    answers = tools.ask("candidates", TEMPLATE, asks, MAX_TOKENS)
    for (case, prompt), answer in zip(prompts, answers, strict=True):
        try:
            if answer.value is not None:
                case.candidates.append(SqlCandidate(_whole_sql(case, answer.value, prompt), "handles"))
        except PointerError as error:
            case.note(f"an answer has no meaning: {error}")
    for case in cases:
        if case.failure is None:
            case.note(f"{len(case.candidates)} of {tools.num_candidates} shuffles of handles gave SQL")


def _whole_sql(case: QuestionCase, answer: str, prompt: PointerPrompt) -> str:
    """The SQL of an answer that uses all that the question names.

    Raises:
        PointerError: it is none, or a value or a column of the question is left out.
    """
    sql = sql_of(answer, prompt)
    values, columns = values_left_out(answer, prompt), columns_left_out(answer, prompt)
    if values or columns:
        case.left_out.update(dict.fromkeys(values, ""))
        case.left_out.update((each.said, _limits(prompt, each.columns)) for each in columns)
        said = (*values, *(each.said for each in columns))
        raise PointerError(f"it leaves out {', '.join(map(repr, said))}")
    return sql


def _limits(prompt: PointerPrompt, columns: Sequence[int]) -> str:
    """What a column is, for a refusal, where the model may have left it out for its type."""
    found = {prompt.schema.columns[at][1] for at in columns}
    if any(column.kind is not ColumnKind.TEXT for column in found):
        return ""
    types = ", ".join(sorted({column.sql_type for column in found}))
    return f" ({types}, of which there is no sum and no average)"


def _prompts(case: QuestionCase, tools: Tools) -> list[PointerPrompt]:
    """A prompt for each shuffle; none where the question or the schema does not fit into one."""
    seed, index = tools.options.seed or 0, tools.database.values()
    try:
        asked = _asked(case, linked_question(case.schema, case.question, index))
        return [
            pointer_prompt(case.schema, asked, index, Random(f"{seed} {number}"))
            for number in range(tools.num_candidates if asked else 0)
        ]
    except PointerError as error:
        case.fail("candidates", str(error), error)
        return []


def _asked(case: QuestionCase, linked: Linked) -> str:
    """What the model is asked: the question, or what is left of it without unlinked words, or nothing.

    Raises:
        PointerError: it names nothing of the tables.
    """
    unlinked = unlinked_words(case.schema, linked)
    case.unlinked = tuple(word.text for word in unlinked)
    case.reading = llm_reading(case.schema, linked, unlinked) if unlinked else None
    if case.reading is not None:
        return case.reading.question
    if not linked.named(case.schema) and not _counts_the_rows(case, linked):
        raise PointerError(f"the question names nothing of the tables.{_examples(case)}")
    if unlinked:
        refuse_unlinked(case, None)
        return ""
    return case.question


def _counts_the_rows(case: QuestionCase, linked: Linked) -> bool:
    """Whether the question is how many rows the only table has, whose name it need not have."""
    return len(case.schema.tables) == 1 and any(piece.sign == "count" for piece in linked.pieces)


def refuse(case: QuestionCase, most: int, tools: Tools) -> None:
    """Fail a question on which the model's answers do not agree, with questions that it can answer."""
    if case.unlinked:
        refuse_unlinked(case, None)
        return
    why = f"at most {most} of its {tools.num_candidates} answers agree" if most else "it has no answer to it"
    if case.left_out:
        named = " and ".join(f'"{said}"{limits}' for said, limits in case.left_out.items())
        why += f", as others leave out {named}" if most else f", for each leaves out {named}"
    case.fail("choice", f"the model does not understand the question: {why}.{_examples(case)}")


def refuse_unlinked(case: QuestionCase, base: str | None) -> None:
    """Fail a question that holds unlinked words, which the model does not read and would leave out.

    Args:
        base: the SQL that answers the rest of the question, in which llm calls may stand for these words.
    """
    named = " and ".join(f'"{word}"' for word in case.unlinked)
    means = "means" if len(case.unlinked) == 1 else "mean"
    problem = (
        f"{named} {means} nothing here: no table, column or value, and no operation that this model knows."
    )
    proposal = None
    if case.reading is not None:
        proposal = (case.reading.sql(base) if base is not None else None) or case.reading.rows_sql
        problem += f" A model that reads the texts may tell:\n  {proposal}\nOr ask with words of the tables."
    elif SHARES.intersection(word.casefold() for word in case.unlinked):
        problem += " Ask for the numbers, and divide them; a model that writes SQL knows shares."
    else:
        problem += _examples(case)
    case.fail("candidates", problem, UnlinkedWords(case.unlinked, proposal))


def _examples(case: QuestionCase) -> str:
    """Questions that the model can answer, for the end of an error."""
    shown = "".join(f"\n  {each}" for each in nearest_questions(case.schema, case.question))
    return f" It can answer, for example:{shown}"


def nearest_questions(schema: Schema, question: str, most: int = _MOST_SUGGESTED) -> list[str]:
    """Questions of shapes that the model knows, with this schema's names, most alike first."""
    asked = _stems(question)
    known = dict.fromkeys(each for table in schema.tables for each in _about(schema, table))
    return sorted(known, key=lambda each: -_likeness(asked, _stems(each)))[:most]


def _about(schema: Schema, table: Table) -> Iterator[str]:
    things = _many(table)
    yield f"How many {things} are there?"
    for column in table.columns:
        if column.name in table.key or column.references is not None:
            continue
        name = " ".join(identifier_words(column.name))
        if column.kind in NUMBERS:
            yield f"What is the average {name} of {things}?"
            yield f"What is the highest {name} of {things}?"
            yield f"Show {things} with {name} above 10."
        elif column.kind is ColumnKind.TEXT:
            yield f"How many {things} are there for each {name}?"
            yield f"List the different {name} of {things}."
            yield from _with_values(things, name, column)
        elif column.kind is ColumnKind.DATE:
            yield f"Show {things} with {name} after 2020."


def _with_values(things: str, name: str, column: Column) -> Iterator[str]:
    for value in column.values[:2]:
        mark = '"' if "'" in value else "'"
        yield f"How many {things} have {name} {mark}{value}{mark}?"
        yield f"Show {things} with {name} {mark}{value}{mark}."


def _many(table: Table) -> str:
    """The plural of a table's name, without numbers as of the year in complaints_2026."""
    words = identifier_words(table.name)
    *first, last = [word for word in words if not word.isdigit()] or words
    return " ".join((*first, plural(stem(last))))


def _stems(text: str) -> set[str]:
    """The stems of a text's words that say something; those of quoted texts too."""
    return {stem(word) for word in folded(_QUOTES.sub(" ", text)) if word not in STOP and word[0].isalnum()}


def _likeness(asked: set[str], known: set[str]) -> float:
    """Words in common, as a share of all."""
    return len(asked & known) / max(1, len(asked | known))
