"""Which tests may run beside each other, where several processes share them (`pytest --dist loadgroup`)."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: Beginnings of paths by group. Tests of a group run in one process, one after the other: they set the
#: machine's settings, hold its lock, or share what is dear to start. The longest first, so that none is left
#: for the end.
GROUPS = {
    "host": ("acceptance/", "integration/test_fleet_firewall.py"),
    "guests": ("integration/test_",),
    "service": ("integration/service/",),
    "simulation": ("simulation/",),
}


def find_group(file: Path) -> str:
    """Return the group of a file of tests: one of its own where none is stated."""
    name = file.relative_to(TESTS).as_posix()
    return next((group for group, beginnings in GROUPS.items() if name.startswith(beginnings)), name)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests into their groups, and these into their order."""
    groups = {item: find_group(item.path) for item in items}
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))
    stated = list(GROUPS)
    items.sort(key=lambda item: stated.index(groups[item]) if groups[item] in stated else len(stated))
