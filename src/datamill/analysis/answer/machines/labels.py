"""Machines as the papers label them: a letter, the clock and the model of the processor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

import polars as pl

from datamill.design.machines import MACHINE_FACTOR

_CLOCK, _MODEL = "context.clock", "context.cpu_model"
#: What vendors put around a model's name, and the clock, which stands before it.
_CLUTTER = re.compile(
    r"\((?:R|TM|r|tm)\)|\bCPU\b|\bProcessor\b|\b\d+-Core\b|@.*$|^\s*(?:Intel|AMD)\b(?=.*\S)"
)
#: Letters of a model that a figure has room for.
_LONGEST = 28


@dataclass(frozen=True, slots=True)
class MachineLabel:
    """A machine's name in the fleet, and its label in figures: `F: 3.4 GHz Core i7-2600`, else its name."""

    name: str
    label: str

    @property
    def short(self) -> str:
        """The letter alone, or the name where there is no letter."""
        return self.label.partition(":")[0] if self.label != self.name else self.name


def label_machines(table: pl.DataFrame, machines: Sequence[str]) -> tuple[MachineLabel, ...]:
    """Label machines in their order; all by name where some processor is not known.

    Args:
        table: the tidy table with what is known of each trial's machine.
        machines: their names, levels of the machine factor.
    """
    if _MODEL not in table.columns:
        return tuple(MachineLabel(name, name) for name in machines)
    models = [_find_only(table, name, _MODEL) for name in machines]
    if not all(models):
        return tuple(MachineLabel(name, name) for name in machines)
    clocks = [_find_only(table, name, _CLOCK) if _CLOCK in table.columns else "" for name in machines]
    return tuple(
        MachineLabel(name, f"{_spell_letter(index)}: {f'{clock} {_shorten(model)}'.strip()}")
        for index, (name, clock, model) in enumerate(zip(machines, clocks, models, strict=True))
    )


def _find_only(table: pl.DataFrame, machine: str, column: str) -> str:
    """The level that a machine has in a column; empty where it has none or several."""
    rows = table.filter(pl.col(MACHINE_FACTOR).cast(pl.String) == machine)
    found = rows[column].drop_nulls().unique().to_list()
    return str(found[0]).strip() if len(found) == 1 else ""


def _shorten(model: str) -> str:
    plain = " ".join(_CLUTTER.sub(" ", model).split())
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1].rstrip()}…"


def _spell_letter(index: int) -> str:
    """A to Z, then AA, AB and so on."""
    more, letter = divmod(index, len(ascii_uppercase))
    return (_spell_letter(more - 1) if more else "") + ascii_uppercase[letter]
