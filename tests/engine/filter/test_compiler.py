"""The language: what compiles to what, and every mistake with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.filter import compiler
from engine.filter.builder import IN_VALUES_MAX
from engine.filter.compiler import DEPTH_MAX, LENGTH_MAX, WORDS_MAX, compile_expression, word_count
from engine.filter.errors import FilterProblem, FilterSyntaxError
from engine.filter.expression import Expression


def mistake(text: str) -> FilterSyntaxError:
    with pytest.raises(FilterSyntaxError) as caught:
        compile_expression(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a = 1", "a = 1"),
        ("a <> 1", "NOT (a = 1)"),
        ("a IS NULL", "a IS NULL"),
        ("a is not null", "NOT (a IS NULL)"),
        ("a BETWEEN 1 AND 6", "(a >= 1) AND (a <= 6)"),
        ("a NOT BETWEEN 1 AND 6", "(a < 1) OR (a > 6)"),
        ("a BETWEEN 1 AND 6 AND b = 2", "((a >= 1) AND (a <= 6)) AND (b = 2)"),
        ("a IN ('x', 'it''s')", "a IN ('x', 'it''s')"),
        ("a NOT IN ('x')", "a NOT IN ('x')"),
        ("(a) IN ('x')", "a IN ('x')"),
        ("a = 1 OR b = 2 AND c = 3", "(a = 1) OR ((b = 2) AND (c = 3))"),
        ("a = 1 OR b = 2 OR c = 3", "(a = 1) OR (b = 2) OR (c = 3)"),
        ("(a = 1 OR b = 2) AND c = 3", "((a = 1) OR (b = 2)) AND (c = 3)"),
        # Tighter than a comparison: not what SQL does.
        ("NOT a = 1", "(NOT a) = 1"),
        ("NOT (a = 1)", "NOT (a = 1)"),
        ("NOT NOT a", "NOT (NOT a)"),
        ("a = 1 = TRUE", "(a = 1) = TRUE"),
        ("a > -5", "a > (-5)"),
        ("a > +5", "a > 5"),
        ("a > - - 5", "a > (-(-5))"),
        ("a >= 5L", "a >= 5"),
        ("a < 5.", "a < 5.0"),
        ("a < .5", "a < 0.5"),
        ("a < 5E3", "a < 5000.0"),
        ("a\t=\n1 -- comment", "a = 1"),
        ("a /* is * compared ** */ = /**/ 1", "a = 1"),
        ("true OR False", "TRUE OR FALSE"),
        ("NULL", "NULL"),
        ("a", "a"),
        ("_a$1 = '' AND nota = 'NOT' AND IN_ = 'x'", "(_a$1 = '') AND (nota = 'NOT') AND (IN_ = 'x')"),
        ("'5' = a", "'5' = a"),
        ("5 = TRUE", "5 = TRUE"),
        ("a NOT BETWEEN 6 AND 1", "(a < 6) OR (a > 1)"),
    ],
)
def test_an_expression_means(text, meaning):
    assert str(compile_expression(text)) == meaning


PROPERTY_FOLLOWS = ("NOT", "=", "<>", ">", ">=", "<", "<=", "BETWEEN", "IN", "IS", "AND", "OR", "the end")
OPERAND = ("property", "'text'", "number", "TRUE", "FALSE", "NULL", "(", "-", "+", "NOT")


@pytest.mark.parametrize(
    ("text", "problem", "column"),
    [
        ("", FilterProblem.EMPTY, 1),
        (" \n ", FilterProblem.EMPTY, 1),
        ("age betwen 0 AND 6", FilterProblem.UNEXPECTED_WORD, 5),
        ("a LIKE 'x%'", FilterProblem.UNEXPECTED_WORD, 3),
        ("a = 1 b", FilterProblem.UNEXPECTED_WORD, 7),
        ("a + 1 > 2", FilterProblem.UNEXPECTED_WORD, 3),
        ("a = 007", FilterProblem.UNEXPECTED_WORD, 6),
        ("my-name = 1", FilterProblem.UNEXPECTED_WORD, 3),
        ("in = 1", FilterProblem.UNEXPECTED_WORD, 1),
        ("a IN (1)", FilterProblem.UNEXPECTED_WORD, 7),
        ("a IN ()", FilterProblem.UNEXPECTED_WORD, 7),
        ("a = 1)", FilterProblem.UNEXPECTED_WORD, 6),
        ("a == 1", FilterProblem.UNEXPECTED_WORD, 4),
        ("a != 1", FilterProblem.UNEXPECTED_CHARACTER, 3),
        ('a = "x"', FilterProblem.UNEXPECTED_CHARACTER, 5),
        ("a.b = 1", FilterProblem.UNEXPECTED_CHARACTER, 2),
        ("名 = 1", FilterProblem.UNEXPECTED_CHARACTER, 1),
        ("a i\u017f NULL", FilterProblem.UNEXPECTED_WORD, 3),  # a long s is no s
        ("\u212a = 1", FilterProblem.UNEXPECTED_CHARACTER, 1),  # nor the sign for kelvin a k
        ("a > ", FilterProblem.UNEXPECTED_END, 4),
        ("(a > 1", FilterProblem.UNEXPECTED_END, 7),
        ("a BETWEEN 1", FilterProblem.UNEXPECTED_END, 12),
        ("a = 'x", FilterProblem.OPEN_TEXT, 5),
        ("a = 1 /* x", FilterProblem.OPEN_COMMENT, 7),
        ("a > 9223372036854775808", FilterProblem.INTEGER_TOO_LARGE, 5),
        ("a > 0.0", FilterProblem.FLOAT_OUT_OF_RANGE, 5),
        ("a > 1E400", FilterProblem.FLOAT_OUT_OF_RANGE, 5),
        ("5", FilterProblem.NOT_BOOLEAN, 1),
        ("a = 1 AND 'x'", FilterProblem.NOT_BOOLEAN, 11),
        ("a = 1 OR -a", FilterProblem.NOT_BOOLEAN, 10),
        ("NOT 5", FilterProblem.NOT_BOOLEAN, 5),
        ("a > 'x'", FilterProblem.NOT_ORDERED, 5),
        ("a < TRUE", FilterProblem.NOT_ORDERED, 5),
        ("NULL >= a", FilterProblem.NOT_ORDERED, 1),
        ("NOT a > 5", FilterProblem.NOT_ORDERED, 1),
        ("a > 1 > 2", FilterProblem.NOT_ORDERED, 1),
        ("a BETWEEN NULL AND 6", FilterProblem.NOT_ORDERED, 11),
        ("a NOT BETWEEN 'a' AND 'b'", FilterProblem.NOT_ORDERED, 15),
        ("a = NULL", FilterProblem.EQUALS_NULL, 5),
        ("NULL <> a", FilterProblem.EQUALS_NULL, 1),
        ("TRUE = 5", FilterProblem.BOOLEAN_EQUALS_OTHER, 8),
        ("a BETWEEN 6 AND 0", FilterProblem.BETWEEN_REVERSED, 11),
        ("a BETWEEN 0.5 AND 0", FilterProblem.BETWEEN_REVERSED, 11),
        ("5 IN ('x')", FilterProblem.IN_NEEDS_PROPERTY, 1),
        ("a IN ('x') IN ('y')", FilterProblem.IN_NEEDS_PROPERTY, 1),
        ("NOT a IN ('x')", FilterProblem.IN_NEEDS_PROPERTY, 1),
    ],
)
def test_a_mistake_is_named_with_its_column(text, problem, column):
    error = mistake(text)
    assert (error.problem, error.column) == (problem, column)
    marked, caret = error.marked().split("\n")[-2:]
    assert caret.index("^") == column + 1
    assert f"column {column}" in str(error)
    assert marked.strip() in text or not text.strip()


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("age betwen 0 AND 6", PROPERTY_FOLLOWS),
        ("a >", OPERAND),
        ("a @ 1", PROPERTY_FOLLOWS),
        ("a IN ('x' 'y')", (")", ",")),
        ("a NOT = 1", ("BETWEEN", "IN")),
        ("a IS 5", ("NULL", "NOT")),
    ],
)
def test_a_mistake_says_what_is_allowed_there(text, allowed):
    error = mistake(text)
    assert error.allowed == allowed
    assert ", ".join(allowed) in str(error)


def test_every_problem_has_an_example_here():
    examples = ["", "a b", "a @", "a >", "'", "/*", "9" * 20 + " > a", "0.0 > a", "5", "a > 'x'", "a = NULL"]
    examples += ["TRUE = 5", "a BETWEEN 2 AND 1", "5 IN ('x')", "a" * (LENGTH_MAX + 1), "NOT " * (DEPTH_MAX + 1) + "a"]
    examples += ["a IN (" + ",".join(["''"] * (IN_VALUES_MAX + 1)) + ")"]
    examples += ["(" * (WORDS_MAX + 1)]
    assert {mistake(text).problem for text in examples} == set(FilterProblem)


def test_a_mistake_in_a_later_line_names_line_and_column():
    error = mistake("a = 1 OR\n  b > 'x' OR\nc = 2")
    assert (error.line, error.column) == (2, 7)
    assert error.marked() == "    b > 'x' OR\n        ^"
    assert "line 2, column 7" in str(error)


def test_of_a_long_line_only_the_part_around_the_mistake_is_shown():
    error = mistake("a = 1 OR " * 100 + "b > 'x' OR " + "c = 2 OR " * 100 + "d = 1")
    line, caret = error.marked().split("\n")
    assert len(line) <= 62
    assert line[caret.index("^")] == "'"


@pytest.mark.parametrize(
    ("opening", "closing"), [("NOT ", "a"), ("a > ", "5"), ("NOT (", "a" + ")" * 600), ("a = (", "a" + ")" * 600)]
)
def test_a_hostile_depth_is_refused_and_not_crashed_on(opening, closing):
    nested = "- " if opening == "a > " else opening
    text = (opening + nested * 599 + closing)[:LENGTH_MAX]
    assert mistake(text).problem in (FilterProblem.TOO_DEEP, FilterProblem.UNEXPECTED_END)


def test_a_deep_part_of_a_forbidden_comparison_is_no_crash_either():
    assert mistake("NOT " * 2_000 + "a > 5").problem is FilterProblem.NOT_ORDERED


def test_as_many_levels_as_are_allowed_compile_and_one_more_does_not():
    # A property that is negated is cast to a condition first: two levels.
    compile_expression("NOT " * (DEPTH_MAX - 2) + "a")
    assert mistake("NOT " * (DEPTH_MAX - 1) + "a").problem is FilterProblem.TOO_DEEP


def test_brackets_alone_are_no_depth():
    assert str(compile_expression("(" * 1_200 + "a = 1" + ")" * 1_200)) == "a = 1"


def test_a_chain_of_conditions_is_no_depth():
    expression = compile_expression(" OR ".join(f"a = {number}" for number in range(600)))
    assert expression.matches({"a": "599"})


def test_the_longest_expression_compiles_and_one_character_more_does_not():
    text = "a = '" + "x" * (LENGTH_MAX - 6) + "'"
    assert compile_expression(text).matches({"a": "x" * (LENGTH_MAX - 6)})
    assert mistake(text + " ").problem is FilterProblem.TOO_LONG


def test_as_many_words_as_are_allowed_compile_and_one_more_does_not():
    text = " OR ".join(["a"] * (WORDS_MAX // 2))
    assert word_count(text) == WORDS_MAX - 1
    compile_expression(text)
    assert mistake(text + " OR a").problem is FilterProblem.TOO_MANY_WORDS


@pytest.mark.parametrize(
    ("text", "words"), [("", 0), ("a = 1", 3), ("a<>'it''s'", 3), ("NOT(a.b IN('x','y z'))", 10), ("'" + "x" * 640, 20)]
)
def test_words_are_counted_without_parsing(text, words):
    assert word_count(text) == words


def test_results_and_mistakes_are_kept_for_the_next_time():
    compiler._compiled.cache_clear()
    first = compile_expression("a = 1")
    assert compile_expression("a = 1") is first
    errors = [mistake("a ="), mistake("a =")]
    assert errors[0] is not errors[1]
    assert str(errors[0]) == str(errors[1])
    assert compiler._compiled.cache_info().hits == 2
    assert compiler._compiled.cache_info().maxsize == 100


#: Words that make up plausible nonsense, and characters that belong nowhere.
words = st.sampled_from(
    ["a", "b", "=", "<>", "<", "NOT", "AND", "OR", "IS", "NULL", "IN", "(", ")", "'x'", ",", "5", "0.5", "-", "+", "@",
     "BETWEEN", "TRUE", "'", "--", "/*", "*/", "\n", "é"]
)  # fmt: skip


@given(st.lists(words, max_size=25).map(" ".join) | st.text(max_size=60))
def test_any_text_either_compiles_or_names_a_place_in_it(text):
    result: Expression | FilterSyntaxError
    try:
        result = compile_expression(text)
    except FilterSyntaxError as error:
        result = error
    if isinstance(result, FilterSyntaxError):
        assert 0 <= result.position <= len(text)
        assert result.line >= 1
        assert result.column >= 1
    else:
        assert 0 <= result.start < result.end <= len(text)
        assert result.matches({}) in (True, False)


@given(st.lists(words, max_size=12).map(" ".join))
def test_what_an_expression_prints_means_the_same(text):
    try:
        expression = compile_expression(text)
    except FilterSyntaxError:
        return
    again = compile_expression(str(expression))
    for properties in ({}, {"a": "5"}, {"a": "x", "b": "x"}, {"b": "0.5"}):
        assert again.matches(properties) == expression.matches(properties)
