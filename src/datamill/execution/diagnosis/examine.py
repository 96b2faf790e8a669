"""From what is known of a machine to what it offers and lacks for measuring."""

from __future__ import annotations

from datamill.execution.diagnosis.finding import Finding
from datamill.execution.diagnosis.machine_findings import examine_machine
from datamill.execution.diagnosis.machine_state import MachineState
from datamill.execution.diagnosis.worker_findings import examine_worker
from datamill.protocol.fleet import Inventory


def examine(
    machine: MachineState, worker: Inventory | None, *, path: str = "", problem: str = "", remedy: str = ""
) -> tuple[Finding, ...]:
    """Return all findings; nothing can be measured without a worker.

    Args:
        machine: what the kernel tells.
        worker: what the worker tells; None where it is not here or does not answer.
        path: the worker's.
        problem: why there is no answer of the worker's.
        remedy: what helps.
    """
    if worker is None:
        found = [Finding("worker", "impossible", problem, "its worker does not answer", remedy)]
    else:
        found = list(examine_worker(worker, machine, path))
    return (*found, *examine_machine(machine))
