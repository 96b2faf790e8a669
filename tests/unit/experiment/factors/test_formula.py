"""Formulas of responses."""

import pytest

from datamill.experiment.errors import InputError
from datamill.experiment.formula import evaluate_formula, parse_formula


def evaluate(text: str, **values: float) -> float:
    return evaluate_formula(parse_formula(text, where="here"), values)


def test_a_formula_is_arithmetic_over_names() -> None:
    assert evaluate("(a - b) / c", a=10, b=4, c=2) == 3
    assert evaluate("-a ** 2 + max(b, 1, 2)", a=3, b=5) == -4
    assert evaluate("log2(8) + sqrt(16) - abs(-1)") == 6


def test_a_formula_lists_each_name_once_in_order() -> None:
    assert parse_formula("b + a * b / min(c, a)", where="here").names == ("b", "a", "c")


@pytest.mark.parametrize(
    "text", ["1 / (a - a)", "log(0 - a)", "exp(a * 10000)", "(0 - a) ** 0.5", "sqrt(a - 2)"]
)
def test_an_undefined_value_is_an_error_and_never_a_number(text: str) -> None:
    with pytest.raises(ArithmeticError):
        evaluate(text, a=1)


@pytest.mark.parametrize(
    "text",
    ["", "a b", "a.b", "a[0]", "'a'", "a if b else c", "f(a)", "max()", "max(a, *b)", "a // b", "True", "1j"],
)
def test_anything_but_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_formula(text, where="here")


def test_a_power_tower_is_refused_at_once_and_never_computed() -> None:
    with pytest.raises(ArithmeticError):
        evaluate("9 ** 9 ** 9 ** 9")


def test_a_lacking_name_is_told() -> None:
    with pytest.raises(KeyError, match="b"):
        evaluate("a / b", a=1)


def test_a_deep_formula_is_evaluated() -> None:
    assert evaluate("-" * 100 + "1") == 1
    assert evaluate("(" * 50 + "1" + ")" * 50) == 1


@pytest.mark.parametrize("text", ["(" * 450 + "1" + ")" * 450, "a" * 1001])
def test_a_monstrous_formula_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_formula(text, where="here")
