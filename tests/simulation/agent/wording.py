"""What the agent tells the coordinator, as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.machines.made_records import encode_content, encode_report

if TYPE_CHECKING:
    from simulation.machines.machine import Machine


def tell(machine: Machine, kind: str, fields: dict[str, object]) -> bytes:
    """Return a report of a kind, as this machine's agent makes it now."""
    return make_report(machine, encode_content(kind, fields))


def make_report(machine: Machine, content: bytes) -> bytes:
    """Return the report around its content."""
    return encode_report(machine.worker_id, machine.boot_id, machine.clock_unix_ns(), content)
