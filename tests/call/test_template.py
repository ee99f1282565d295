"""Templates: parsing, binding, rendering, and errors with a caret."""

import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.call.template import Template, text_of
from relserve.errors import TemplateError, UsageError

plain = st.text(st.characters(exclude_characters="{}"), max_size=20)
no_braces = st.characters(exclude_characters="{}")
names = st.text(no_braces, min_size=1, max_size=8).filter(lambda s: s == s.strip() and s)
any_text = st.text(max_size=40)


def escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


@given(any_text)
def test_escaped_text_renders_as_itself(text: str) -> None:
    assert Template.parse(escaped(text)).bind(0).render(()) == text


@given(st.lists(any_text, min_size=1, max_size=6), st.data())
def test_positional_fields_take_values_in_order(literals: list[str], data: st.DataObject) -> None:
    values = data.draw(st.lists(any_text, min_size=len(literals) - 1, max_size=len(literals) - 1))
    template = Template.parse("{}".join(escaped(x) for x in literals))
    expected = literals[0] + "".join(v + x for v, x in zip(values, literals[1:], strict=True))
    assert template.bind(len(values)).render(values) == expected


@given(st.dictionaries(names, any_text, min_size=1, max_size=5), st.data())
def test_names_take_row_fields_and_arguments_alike(row: dict[str, str], data: st.DataObject) -> None:
    used = data.draw(st.lists(st.sampled_from(sorted(row)), min_size=1, max_size=8))
    template = Template.parse(" ".join("{" + name + "}" for name in used))
    expected = " ".join(row[name] for name in used)
    assert template.bind(1, list(row)).render(list(row.values())) == expected
    assert template.bind(len(template.names)).render([row[n] for n in template.names]) == expected


@given(any_text)
def test_parsing_any_text_gives_a_template_or_a_template_error(text: str) -> None:
    try:
        template = Template.parse(text)
    except TemplateError as error:
        shown = str(error)
        assert "^" in shown
    else:
        assert len(template.literals) == len(template.fields) + 1


def test_braces_in_values_are_not_placeholders() -> None:
    assert Template.parse("say {}").bind(1).render(["{name} {} %s {{"]) == "say {name} {} %s {{"


def test_names_may_hold_slashes_and_spaces_around() -> None:
    template = Template.parse("{beer/name} in { style }, {beer/name}")
    assert template.names == ("beer/name", "style")
    assert template.bind(2).render(["Duvel", "ale"]) == "Duvel in ale, Duvel"


def test_row_fields_match_without_case_when_no_exact_match() -> None:
    assert Template.parse("{Review}").bind(1, ["review", "x"]).render(["fine", "no"]) == "fine"
    assert Template.parse("{A}{a}").bind(1, ["a", "A"]).render(["low", "up"]) == "uplow"


def test_null_in_a_used_value_gives_none_and_an_unused_one_does_not() -> None:
    binding = Template.parse("{b}").bind(1, ["a", "b"])
    assert binding.render([None, "x"]) == "x"
    assert binding.render(["x", None]) is None


@pytest.mark.parametrize(
    ("text", "problem", "column"),
    [
        ("Rate {review from 1 to 5", "'{' is never closed", 5),
        ("Rate review} now", "'}' without '{'", 11),
        ("a {b {c}", "'{' inside a placeholder", 5),
        ("{} and {name}", "mixed", 7),
    ],
)
def test_errors_point_at_the_place(text: str, problem: str, column: int) -> None:
    with pytest.raises(TemplateError) as caught:
        Template.parse(text)
    lines = str(caught.value).splitlines()
    assert problem in lines[0]
    assert lines[1] == "  " + text
    assert lines[2] == " " * (column + 2) + "^"


def test_caret_finds_its_line_and_its_place_in_long_templates() -> None:
    with pytest.raises(TemplateError) as caught:
        Template.parse("first line\n" + "x" * 300 + "{oops" + "y" * 300)
    _, shown, caret = str(caught.value).splitlines()[:3]
    assert shown[caret.index("^")] == "{"
    assert len(shown) < 90


@pytest.mark.parametrize(
    ("text", "num_args", "problem"),
    [
        ("{a} {b}", 1, "placeholder {b} has no argument"),
        ("{}", 0, "placeholder {} has no argument"),
        ("no placeholder", 1, "argument 1 has no placeholder"),
        ("{a}{a}", 2, "argument 2 has no placeholder"),
    ],
)
def test_binding_wants_one_value_a_placeholder(text: str, num_args: int, problem: str) -> None:
    with pytest.raises(TemplateError, match=problem.replace("{", r"\{").replace("}", r"\}")):
        Template.parse(text).bind(num_args)


def test_binding_a_row_names_its_fields_when_one_is_missing() -> None:
    with pytest.raises(TemplateError, match=r"not a field of the row(.|\n)*The row has: id, review"):
        Template.parse("{revieww}").bind(1, ["id", "review"])


def test_a_template_that_is_no_text_is_refused() -> None:
    with pytest.raises(UsageError, match="must be text, not int"):
        Template.parse(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"), (1, "1"), (1.0, "1.0"), (Decimal("1.50"), "1.50"), (b"a\xff", "a\\xff"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02 03:04:05"),
        ([1, "a", None], '[1, "a", null]'), ({"a": [1]}, '{"a": [1]}'), ("", ""),
    ],
)  # fmt: skip
def test_values_read_as_duckdb_prints_them(value: object, text: str) -> None:
    assert text_of(value) == text
