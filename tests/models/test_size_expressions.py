"""Expressions of sizes: equal ones have one canonical form, and other text stays as it is."""

from __future__ import annotations

from functools import partial

from cases import cases
from costs import least_seconds
from hypothesis import given
from hypothesis import strategies as st

from axiscast.models.size_expressions import as_name, canonical, names_in


@cases(
    ("expression", "form"),
    [
        ("(((H - 1)//2)) + 1", "(H - 1)//2 + 1"),
        ("1 + (-1 + H)//2", "(H - 1)//2 + 1"),
        ("s1*s0", "s0*s1"),
        ("2*s0 + 3 - 1 - s0", "s0 + 2"),
        ("(s0 + 1)**2", "s0*s0 + 2*s0 + 1"),
        ("(2*s0)//2", "s0"),
        ("(4*s0 + 6)//4", "s0 + 1"),
        ("(seq*seq)//seq", "seq"),
        ("2*(s0//2)", "2*(s0//2)"),
        ("(2*s0)//4", "(2*s0)//4"),
        ("Max(s0, 1)", "Max(1, s0)"),
        ("Max(2, 7)", 7),
        ("s0 - s0", 0),
        ("(7 + 2)//2", 4),
        ("7 % 4", 3),
        ("-s0 + 2*s0", "s0"),
        ("f(b, a)", "f(b, a)"),
    ],
)
def test_equal_expressions_have_one_form(expression: str, form: int | str) -> None:
    assert canonical(expression) == form
    assert canonical(str(form)) == form if isinstance(form, str) else True


@cases(
    "text",
    [
        "N", "a.b", "a b", "2N", "?", "", "-", "lambda: x", "s0 %", "f(x=1)", "x if y else z", "1is 2", "'a'*9", "( ",
        "9**9**9", "s//0", "2 - 3", "9" * 30 + " + 1", "(a+b+c+d+e+f)**8", "-" * 4000 + "a", "\n", "\0",
        "*".join(["a"] * 100),
    ],
)  # fmt: skip
def test_text_that_is_not_an_expression_or_is_too_complex_stays_as_it_is(text: str) -> None:
    assert canonical(text) == text


def test_known_sizes_evaluate_an_expression() -> None:
    assert canonical("(((H - 1)//2)) + 1", {"H": 64}) == 32
    assert canonical("H*W + s", {"H": 2, "W": 3}) == "s + 6"
    assert canonical("a.b", {"a.b": 5}) == 5
    assert canonical("H - 5", {"H": 4}) == "H - 5"


def test_every_expression_is_normalized_quickly() -> None:
    power = "9"
    while len(power) < 290:
        power = f"({power}**8)"
    for text in (power, "(" * 140 + "a" + ")" * 140, "-" * 299 + "a", "*".join(["(a+b)"] * 40)):
        assert least_seconds(partial(canonical, text), 1, tries=3) < 1


def test_a_name_spells_its_expression() -> None:
    assert as_name("(H - 1)//2 + 1") == "H_minus_1_div_2_plus_1"
    assert as_name("2*s0") == "_2_times_s0"
    assert as_name("a.b") == "a_b"
    assert as_name("n" * 500) == "n" * 80
    assert names_in("Max(512, seq)*H2") == {"seq", "H2"}
    assert names_in("a.b") == {"a.b"}


ATOMS = st.sampled_from(["a", "b", "c", "1", "2", "3"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=8,
)


@given(EXPRESSIONS, st.tuples(*[st.integers(1, 9)] * 3))
def test_the_canonical_form_has_the_value_of_the_expression(expression: str, values: tuple[int, int, int]) -> None:
    """Python computes the expected values. A division by 0 has none."""
    sizes = dict(zip("abc", values, strict=True))
    try:
        expected = eval(expression, {}, sizes)
    except ZeroDivisionError:
        return
    assert eval(str(canonical(expression)), {}, sizes) == expected
    settled = canonical(expression, sizes)
    assert eval(str(settled), {}, sizes) == expected
