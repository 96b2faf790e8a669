"""From `[responses]` of an experiment file to responses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Response
from datamill.experiment.factors.catalogue import FACTORS
from datamill.experiment.file.fields import IDENTIFIER, take_table, take_typed
from datamill.experiment.file.source import Source
from datamill.experiment.formula import parse_formula
from datamill.experiment.messages.mistakes import Mistakes
from datamill.experiment.responses import BUILT_IN_UNITS, DEFAULT_RESPONSE
from datamill.experiment.units import check_unit


def parse_responses(tables: Mapping[str, Any], source: Source) -> tuple[Response, ...]:
    """Return what is measured; without the section, the default response.

    Raises:
        InputError: for a name, a formula, a unit or a direction that cannot be, each with its line.
    """
    mistakes = Mistakes()
    read = [
        mistakes.attempt(partial(_read_response, name, entry, source), None)
        for name, entry in take_table(tables, "responses", source).items()
    ]
    mistakes.refuse()
    return tuple(response for response in read if response is not None) or (DEFAULT_RESPONSE,)


def _read_response(name: str, entry: object, source: Source) -> Response:
    section = f"responses.{name}"
    if not IDENTIFIER.fullmatch(name):
        raise InputError(
            f'"{name}" cannot name a response',
            where=source.locate(section),
            remedy="Use letters, digits and underscores.",
        )
    if not isinstance(entry, dict):
        raise InputError(
            f'response "{name}" must be a table',
            where=source.locate("responses", name),
            remedy=f"Write [responses.{name}] with unit, formula and direction.",
        )

    def read_formula() -> str:
        formula = take_typed(entry, "formula", str, name, source, section)
        if name in FACTORS or name in ("package", "machine") or (name in BUILT_IN_UNITS and formula != name):
            kind = "built-in response" if name in BUILT_IN_UNITS else "factor"
            raise InputError(
                f'"{name}" is the name of a {kind}',
                where=source.locate(section),
                remedy="Give the response another name.",
            )
        parse_formula(formula, where=source.locate(section, "formula"))
        return formula

    def read_unit(formula: str) -> str:
        unit = take_typed(entry, "unit", str, BUILT_IN_UNITS.get(formula, ""), source, section)
        if not unit:
            raise InputError(
                f'response "{name}" needs a unit',
                where=source.locate(section),
                remedy='Write, say, unit = "B/s"; unit = "1" for a plain number.',
            )
        return check_unit(unit, where=source.locate(section, "unit"))

    def read_direction() -> str:
        direction = take_typed(entry, "direction", str, "", source, section)
        if direction not in ("higher", "lower"):
            raise InputError(
                f'response "{name}" does not say which direction is better'
                if not direction
                else f'unknown direction "{direction}"',
                where=source.locate(section, "direction"),
                remedy='Write direction = "higher" or direction = "lower".',
            )
        return direction

    mistakes = Mistakes()
    mistakes.attempt(lambda: source.check_keys(entry, ("unit", "formula", "direction"), section), None)
    formula = mistakes.attempt(read_formula, name)
    unit = mistakes.attempt(lambda: read_unit(formula), "")
    direction = mistakes.attempt(read_direction, "lower")
    mistakes.refuse()
    return Response(name=name, unit=unit, formula=formula, direction=direction)  # type: ignore[arg-type]
