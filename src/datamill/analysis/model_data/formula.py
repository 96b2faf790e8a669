"""Model formulas: `latency ~ sched * machine + log(size)`, in the notation of Wilkinson and Rogers (1973)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from datamill.experiment.errors import InputError

#: What may be applied to a column, besides `C` (take numbers as levels).
TRANSFORMS = ("log", "log2", "log10", "sqrt")
_TOKEN = re.compile(r"\s*(?:(?P<name>`[^`]+`|[^\W\d][\w.]*)|(?P<number>\d+)|(?P<mark>[-+:*^()~/|%,]))")
#: Parentheses within each other; no model needs more, and each takes part of the stack.
_DEEPEST = 50
_REMEDY = (
    'Write terms joined by +, interactions with : or *, such as "latency ~ sched * machine + log(size)".'
)
_Term = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A column, or a transform of one; `name` is how it is written, such as `log(size)`."""

    name: str
    column: str
    transform: str = ""


@dataclass(frozen=True, slots=True)
class ModelFormula:
    """A parsed model formula.

    `response` is None when the formula has no left side. `terms` are names of variables, main
    effects first; `variables` has each by name, in the order of appearance. `levels` names the
    columns whose numbers were marked as levels with `C(...)`.
    """

    text: str
    response: Variable | None
    terms: tuple[_Term, ...]
    variables: tuple[Variable, ...]
    levels: tuple[str, ...]


def parse_model_formula(text: str) -> ModelFormula:
    """Parse `response ~ terms` or `terms`: names, `+ - : * ^ ( )`, log, log2, log10, sqrt, C.

    A name with other characters than letters, digits, `_` and `.` stands in backquotes. `a*b` is
    `a + b + a:b`; `(a + b + c)^2` all terms of up to two; `- a:b` leaves a term out. The mean is
    always in the model.

    Raises:
        InputError: the text is no such formula.
    """
    parser = _Parser(text)
    sides = parser.parse()
    response = sides[0] if len(sides) == 2 else None
    if response is not None and (len(response) != 1 or len(response[0]) != 1):
        raise _refuse(text, "the left side of ~ is not one column")
    variables = parser.variables
    named = None
    if response is not None:
        named = variables.pop(response[0][0])
        if named.column in parser.levels:
            raise _refuse(text, "the response cannot be levels")
    terms = sides[-1]
    if any(named is not None and named.name in term for term in terms):
        assert named is not None
        raise _refuse(text, f"{named.name} stands on both sides of ~")
    if not terms:
        raise _refuse(text, "it has no term besides the mean")
    return ModelFormula(
        text=text.strip(),
        response=named,
        terms=tuple(sorted(terms, key=len)),
        variables=tuple(v for v in variables.values() if any(v.name in term for term in terms)),
        levels=tuple(parser.levels),
    )


def list_factorial_terms(names: Sequence[str], order: int) -> tuple[_Term, ...]:
    """All main effects and interactions of up to `order` of the named variables, main effects first."""
    sizes = range(1, min(order, len(names)) + 1)
    return tuple(term for size in sizes for term in combinations(names, size))


def _refuse(text: str, why: str) -> InputError:
    return InputError(f'"{text}" is not a model formula: {why}', remedy=_REMEDY)


class _Parser:
    """Recursive descent; every level returns terms, each a tuple of names of variables."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split(text)
        self._at = 0
        self._depth = 0
        self.variables: dict[str, Variable] = {}
        self.levels: dict[str, None] = {}

    def parse(self) -> list[list[_Term]]:
        sides = [self._sum()]
        if self._take("~"):
            sides.append(self._sum())
        if self._at < len(self._tokens):
            raise _refuse(self._text, f'"{self._tokens[self._at]}" is not understood there')
        return sides

    def _split(self, text: str) -> list[str]:
        tokens, position = [], 0
        stripped = text.rstrip()
        if not stripped:
            raise _refuse(text, "it is empty")
        while position < len(stripped):
            match = _TOKEN.match(stripped, position)
            if match is None:
                raise _refuse(text, f'"{stripped[position:].strip()[:1]}" is not understood')
            tokens.append(match.group().strip())
            position = match.end()
        return tokens

    def _take(self, *marks: str) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at] in marks:
            self._at += 1
            return self._tokens[self._at - 1]
        return ""

    def _sum(self) -> list[_Term]:
        terms: list[_Term] = []
        if not self._take("+") and self._take("-"):
            self._leave_out(terms, self._product())
        else:
            self._add(terms, self._product())
        while sign := self._take("+", "-"):
            (self._add if sign == "+" else self._leave_out)(terms, self._product())
        return terms

    @staticmethod
    def _add(terms: list[_Term], more: Iterable[_Term]) -> None:
        known = {frozenset(term) for term in terms}
        for term in more:
            if frozenset(term) not in known:
                known.add(frozenset(term))
                terms.append(term)

    def _leave_out(self, terms: list[_Term], gone: Iterable[_Term]) -> None:
        leaving = {frozenset(term) for term in gone}
        if not leaving:
            raise _refuse(self._text, "the mean cannot be left out")
        terms[:] = [term for term in terms if frozenset(term) not in leaving]

    def _product(self) -> list[_Term]:
        left = self._interaction()
        while self._take("*"):
            right = self._interaction()
            crossed = self._cross(left, right)
            self._add(left, right)
            self._add(left, crossed)
        return left

    def _interaction(self) -> list[_Term]:
        left = self._power()
        while self._take(":"):
            left = self._cross(left, self._power())
        return left

    @staticmethod
    def _cross(left: Sequence[_Term], right: Sequence[_Term]) -> list[_Term]:
        terms: list[_Term] = []
        _Parser._add(terms, (tuple(dict.fromkeys((*a, *b))) for a in left for b in right))
        return terms

    def _power(self) -> list[_Term]:
        base = self._atom()
        if not self._take("^"):
            return base
        exponent = self._next("a number after ^")
        if not exponent.isdecimal() or not 1 <= int(exponent) <= 20:
            raise _refuse(self._text, f'"{exponent}" after ^ is not a number from 1 to 20')
        terms = list(base)
        for _ in range(int(exponent) - 1):
            self._add(terms, self._cross(terms, base))
        return terms

    def _next(self, wanted: str) -> str:
        if self._at >= len(self._tokens):
            raise _refuse(self._text, f"{wanted} is missing at its end")
        self._at += 1
        return self._tokens[self._at - 1]

    def _atom(self) -> list[_Term]:
        token = self._next("a name")
        if token == "(":
            self._depth += 1
            if self._depth > _DEEPEST:
                raise _refuse(self._text[:60] + " ...", f"it is nested more than {_DEEPEST} deep")
            terms = self._sum()
            self._close()
            self._depth -= 1
            return terms
        if token == "1":
            return []
        if token == "0":
            raise _refuse(self._text, "the mean cannot be left out")
        if not (token.startswith("`") or token[0].isalpha() or token[0] == "_"):
            raise _refuse(self._text, f'"{token}" is not understood there')
        if self._take("("):
            return [(self._call(token),)]
        name = token.strip("`")
        return [(self._keep(Variable(name, name)),)]

    def _call(self, function: str) -> str:
        if function not in (*TRANSFORMS, "C"):
            raise _refuse(self._text, f"{function}() is unknown; there are {', '.join((*TRANSFORMS, 'C'))}")
        column = self._next("a column").strip("`")
        self._close()
        if function == "C":
            self.levels[column] = None
            return self._keep(Variable(column, column))
        return self._keep(Variable(f"{function}({column})", column, function))

    def _keep(self, variable: Variable) -> str:
        self.variables.setdefault(variable.name, variable)
        return variable.name

    def _close(self) -> None:
        if not self._take(")"):
            raise _refuse(self._text, "a closing parenthesis is missing")
