"""Which commands that the pages show are not executed, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from faces.documents import Shown

#: Beginnings of commands by what they would take here.
NOT_EXECUTED = {
    "asks a coordinator or its workers: tests of the service and of fleets start them": (
        *("serve", "submit", "watch", "fetch", "trials", "cancel", "release", "fork", "rerun"),
        *("notices", "keys", "quotas", "queue", "workers", "users", "storage"),
        *("publish", "publications", "withdraw", "worker token", "worker join"),
        *("factors --register", "factors --fleet", "factors --forbid", "platforms scores"),
        *("platforms predict --experiment", "selection collect --fleet", "compare --experiment"),
    ),
    "boots guests or makes their images": ("worker image", "worker guest-image", "worker lab"),
    "fetches sources from a network": ("new inserts", "run inserts"),
    "builds and measures revisions: tests of gates, of timing and of the selection do": (
        *("gate", "compare history.csv", "time --git"),
        *("selection init", "selection collect", "selection train", "selection predict"),
        *("selection pack", "selection evaluate --store FOLDER"),
    ),
    "traces system calls as root": ("allocators kernel", "allocators analyze calls.parquet --where call="),
    "watches a server, or a program that runs already": (
        *("allocators trace --served", "allocators trace --pid", "allocators analyze commands.parquet"),
    ),
    "measures for minutes": (
        *("run fingerprint", "platforms predict here", "run screen.toml", "run --after-screening"),
        *("run e.toml", "worker noise", "run compression.toml", "predict compression"),
    ),
    "times programs that the page does not have, until it is sure": (
        "time 'a' 'b'",
        "time 'python bench.py'",
    ),
    "undoes what was set on this machine": ("worker restore",),
}
#: Signs that a command is shown with what may be left out or chosen, instead of whole.
_OPEN = re.compile(r"…|\.\.\.|\[|\|")
#: The name of a command, with no more than an option.
_NAMED = re.compile(r"[a-z-]+( [a-z][a-z-]*)?( --[a-z-]+)?")
#: Commands that are whole although they are one word.
_ALONE = ("doctor", "factors", "packages")


def find_why_not(shown: Shown) -> str:
    """Why a command is not executed, empty where it is."""
    typed = shown.text.removeprefix("datamill ")
    for reason, beginnings in NOT_EXECUTED.items():
        if any(typed == beginning or typed.startswith(_end_word(beginning)) for beginning in beginnings):
            return reason
    if _OPEN.search(typed):
        return "is not shown whole"
    if not shown.is_in_block and _NAMED.fullmatch(typed) and typed not in _ALONE:
        return "is named without what it works on"
    return ""


def _end_word(beginning: str) -> str:
    return beginning if beginning.endswith("=") else f"{beginning} "


def tell_unexecuted(commands: Iterable[Shown]) -> list[str]:
    """How many commands are not executed, a line for each reason."""
    left = Counter(reason for shown in commands if (reason := find_why_not(shown)))
    return [f"{count:4} {reason}" for reason, count in left.most_common()]


def list_unused_beginnings(commands: Iterable[Shown]) -> list[str]:
    """Beginnings that no page shows."""
    typed = [f"{shown.text.removeprefix('datamill ')} " for shown in commands]
    return [
        beginning
        for beginnings in NOT_EXECUTED.values()
        for beginning in beginnings
        if not any(text.startswith(_end_word(beginning)) for text in typed)
    ]
