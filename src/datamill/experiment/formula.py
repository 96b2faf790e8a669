"""Formulas of responses: arithmetic over names, and nothing else."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from datamill.experiment.errors import InputError

_FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "exp": math.exp,
}
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
#: What a formula sees besides its values: no built-ins.
_GLOBALS: dict[str, Any] = {"__builtins__": {}, **_FUNCTIONS}
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Formula:
    """A checked formula: its text, the names that it needs, and its code."""

    text: str
    names: tuple[str, ...]
    code: CodeType


def parse_formula(text: str, *, where: str) -> Formula:
    """Check a formula: numbers, names, + - * / **, parentheses, abs, min, max, sqrt, log, log2, log10, exp.

    Raises:
        InputError: when the text is anything else, or divides by a constant zero.
    """
    if len(text) > _LONGEST:
        raise InputError(f"the formula is longer than {_LONGEST} characters", where=where)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        names = dict.fromkeys(_list_names(tree, text, where))
        code = compile(ast.Expression(_FloatConstants().visit(tree)), "formula", "eval")
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        cause = error.msg if isinstance(error, SyntaxError) else "it cannot be read"
        raise InputError(
            f'"{text}" is not a formula: {cause}',
            where=where,
            remedy='Write arithmetic over names, such as "(input_bytes - output_bytes) / wall_time_s".',
        ) from None
    return Formula(text=text, names=tuple(names), code=code)


class _FloatConstants(ast.NodeTransformer):
    """Makes whole numbers floats: they overflow at once where `9 ** 9 ** 9` would compute for years."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """Return the constant as a float."""
        assert isinstance(node.value, (int, float))
        return ast.copy_location(ast.Constant(float(node.value)), node)


def _list_names(node: ast.expr, text: str, where: str) -> Iterator[str]:
    """Yield the names in a formula, refusing whatever is not arithmetic."""
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            return
        case ast.Name(id=name):
            yield name
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            yield from _list_names(operand, text, where)
        case ast.BinOp(op=ast.Div(), right=ast.Constant(value=0)):
            raise InputError(f'"{text}" divides by zero', where=where, remedy="Correct the divisor.")
        case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _OPERATORS):
            yield from _list_names(left, text, where)
            yield from _list_names(right, text, where)
        case ast.Call(func=ast.Name(id=function), args=[_, *_] as arguments, keywords=[]):
            if function not in _FUNCTIONS:
                raise InputError(
                    f'"{text}" calls an unknown function "{function}"',
                    where=where,
                    remedy=f"Functions: {', '.join(_FUNCTIONS)}.",
                )
            for argument in arguments:
                yield from _list_names(argument, text, where)
        case _:
            raise InputError(
                f'"{text}" holds "{ast.unparse(node)}", which is not arithmetic',
                where=where,
                remedy="Only numbers, names, + - * / **, parentheses and functions are understood.",
            )


def evaluate_formula(formula: Formula, values: Mapping[str, float]) -> float:
    """Return the value of a formula.

    Raises:
        ArithmeticError: when it divides by zero, overflows or is undefined; the message says where.
        KeyError: when `values` lacks one of `formula.names`.
    """
    try:
        value = eval(formula.code, _GLOBALS, values)  # checked by parse_formula: arithmetic alone
    except ZeroDivisionError:
        raise ArithmeticError(f"{formula.text} divides by zero") from None
    except NameError as error:
        raise KeyError(error.name) from None
    except (OverflowError, ValueError, TypeError):
        raise ArithmeticError(f"{formula.text} is not defined for these values") from None
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ArithmeticError(f"{formula.text} is not a finite number")
    return float(value)
