"""Whether machines of a fleet were rebooted where the factor `reboot` says so: seen by the ids of boots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from datamill.design.design import PlannedTrial
from datamill.design.fleet.reboots import REBOOT_FACTOR, REBOOTED
from datamill.protocol.trial import TrialRecord


def explain_missing_reboots(
    planned: Mapping[str, PlannedTrial], records: Sequence[TrialRecord]
) -> dict[tuple[str, int], str]:
    """Return why attempts at trials after a reboot may not be used: something ran in their boot before them.

    Args:
        planned: trials by their id.
        records: all attempts, whatever became of them.
    """
    first: dict[str, TrialRecord] = {}
    for record in records:
        boot = record.host.boot_id
        if boot not in first or record.started_unix_ns < first[boot].started_unix_ns:
            first[boot] = record
    reasons = {}
    for record in records:
        if planned[record.trial_id].levels.get(REBOOT_FACTOR) != REBOOTED:
            continue
        earlier = first[record.host.boot_id]
        if earlier is not record:
            reasons[record.trial_id, record.attempt] = (
                f'{REBOOT_FACTOR} was "none", not "{REBOOTED}" as planned: trial {earlier.trial_id} ran '
                "before in the same boot"
            )
    return reasons
