"""Which tests may run beside each other in several processes (`make test`), and the table of attacks."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from attack_table import format_attacks, is_attack
from machine_turn import having_the_machine
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Tests play many machines on this one, each with a state folder, and must not wait for one another.
os.environ.setdefault("DATAMILL_HOST_LOCK", "state-folder")

#: Beginnings of tests' names by group. Tests of a group run in one process, one after the other: they set the
#: machine's settings, hold its lock, or share what is dear to start. The longest first, so that none is left
#: for the end.
GROUPS = {
    "host": (
        "tests/acceptance/",
        "tests/integration/test_fleet_firewall.py",
        "tests/integration/hostile/test_package_",
    ),
    "guests": ("tests/integration/test_",),
    "hostile": ("tests/integration/hostile/",),
    "service": ("tests/integration/service/",),
    "simulation": ("tests/simulation/",),
}


def find_group(test: str) -> str:
    """Return the group of a test by the longest beginning of its name, else its file."""
    stated = [
        (len(beginning), group)
        for group, beginnings in GROUPS.items()
        for beginning in beginnings
        if test.startswith(beginning)
    ]
    return max(stated)[1] if stated else test.partition("::")[0]


class GroupScheduling(LoadScopeScheduling):
    """Gives a process one group after the other."""

    def _split_scope(self, nodeid: str) -> str:
        return find_group(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    """Tell who decides which process runs a test."""
    return GroupScheduling(config, log)


@pytest.fixture
def whole_machine() -> Iterator[None]:
    """Keep others from measuring while a test sets the machine's settings."""
    with having_the_machine():
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the groups in their order."""
    stated = list(GROUPS)
    groups = {item: find_group(item.nodeid) for item in items}
    items.sort(key=lambda item: stated.index(groups[item]) if groups[item] in stated else len(stated))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `make hostile` asks for."""
    parser.addoption("--attacks", action="store_true", help="print the table of attacks at the end")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what became of each attack, where that is asked for."""
    if not config.getoption("--attacks"):
        return
    reports = [
        report
        for outcome in ("passed", "failed", "error", "skipped")
        for report in terminalreporter.stats.get(outcome, [])
        if is_attack(report.nodeid)
    ]
    terminalreporter.section("attacks")
    terminalreporter.write(format_attacks(reports))
