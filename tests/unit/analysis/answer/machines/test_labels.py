"""Machines are called by a letter, their clock and their model, as in the papers."""

from __future__ import annotations

import polars as pl

from datamill.analysis.answer.machines.labels import label_machines

TABLE = pl.DataFrame(
    {
        "machine": ["atom", "i7", "i7", "beagle"],
        "context.cpu_model": [
            "Intel(R) Atom(TM) CPU 230   @ 1.60GHz",
            "Intel(R) Core(TM) i7-2600 CPU @ 3.40GHz",
            "Intel(R) Core(TM) i7-2600 CPU @ 3.40GHz",
            "Cortex-A8",
        ],
        "context.clock": ["1.6 GHz", "3.4 GHz", "3.4 GHz", None],
    }
)


def list_labels(table: pl.DataFrame, machines: tuple[str, ...]) -> list[str]:
    return [item.label for item in label_machines(table, machines)]


def test_a_label_is_a_letter_the_clock_and_the_model() -> None:
    found = label_machines(TABLE, ("atom", "i7", "beagle"))
    assert [item.label for item in found] == [
        "A: 1.6 GHz Atom 230",
        "B: 3.4 GHz Core i7-2600",
        "C: Cortex-A8",
    ]
    assert [item.short for item in found] == ["A", "B", "C"]


def test_where_some_model_is_not_known_all_are_called_by_name() -> None:
    assert list_labels(TABLE, ("atom", "elsewhere")) == ["atom", "elsewhere"]
    assert list_labels(TABLE.drop("context.cpu_model"), ("atom", "i7")) == ["atom", "i7"]
    changed = TABLE.with_columns(pl.Series("context.cpu_model", ["a", "b", "c", "d"]))
    assert list_labels(changed, ("atom", "i7")) == ["atom", "i7"]


def test_letters_go_on_behind_z() -> None:
    many = tuple(f"m{number}" for number in range(28))
    table = pl.DataFrame({"machine": many, "context.cpu_model": ["x"] * 28})
    assert list_labels(table, many)[25:] == ["Z: x", "AA: x", "AB: x"]
