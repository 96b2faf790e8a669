"""The register of bugs that can be planted."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

PLANTS: dict[str, Callable[[], None]] = {}


def plant(function: Callable[[], None]) -> Callable[[], None]:
    """Enter a function that plants a bug, under its name."""
    PLANTS[function.__name__] = function
    return function


def list_plants() -> list[str]:
    """Return the names of all bugs, sorted."""
    for module in ("planted", "planted_in_dispatch"):
        import_module(f"simulation.bugs.{module}")
    return sorted(PLANTS)


def plant_bug(name: str) -> None:
    """Plant a bug for the rest of this process; none for an empty name."""
    if name:
        list_plants()
        PLANTS[name]()
