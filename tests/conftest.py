"""Which tests may run beside each other, where several processes share them (`make test`)."""

from __future__ import annotations

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

#: Beginnings of tests' names by group. Tests of a group run in one process, one after the other: they set the
#: machine's settings, hold its lock, or share what is dear to start. The longest first, so that none is left
#: for the end.
GROUPS = {
    "host": ("tests/acceptance/", "tests/integration/test_fleet_firewall.py"),
    "guests": ("tests/integration/test_",),
    "service": ("tests/integration/service/",),
    "simulation": ("tests/simulation/",),
}


def find_group(test: str) -> str:
    """Return the group of a test: its file where none is stated."""
    stated = (group for group, beginnings in GROUPS.items() if test.startswith(beginnings))
    return next(stated, test.partition("::")[0])


class GroupScheduling(LoadScopeScheduling):
    """Gives a process one group after the other."""

    def _split_scope(self, nodeid: str) -> str:
        return find_group(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    """Tell who decides which process runs a test."""
    return GroupScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the groups in their order."""
    stated = list(GROUPS)
    groups = {item: find_group(item.nodeid) for item in items}
    items.sort(key=lambda item: stated.index(groups[item]) if groups[item] in stated else len(stated))
