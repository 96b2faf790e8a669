"""What a process of the agent that starts finds on the disk (`recovery.rs`)."""

from __future__ import annotations

from typing import Literal

import msgspec

from simulation.agent.durable import Durable

#: How often a worker sets out to start one attempt, reboots included.
MOST_STARTS = 3


def recover(files: Durable, boot_id: str) -> Literal["nothing", "run", "reboot"]:
    """Put the disk in order and return what is to be done about the attempt that is on it.

    Raises:
        DiskFullError: it could not be put in order yet.
    """
    journal = files.read_journal()
    if journal is None:
        return "nothing"
    attempt = journal.lease.attempt
    if files.is_spooled(attempt):
        files.remove_journal()
        return "nothing"
    if journal.stage == "started":
        files.give_up(attempt, "The machine went down while the trial ran.")
        return "nothing"
    if journal.starts >= MOST_STARTS:
        files.give_up(attempt, f"The worker set out {MOST_STARTS} times to start the trial.")
        return "nothing"
    journal.starts += 1
    files.write("journal", msgspec.json.encode(journal))
    is_new = journal.lease.reboot and journal.taken_boot_id == boot_id
    return "reboot" if is_new else "run"
