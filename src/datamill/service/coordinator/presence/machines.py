"""What machines tell of themselves when they say hello; a batch writes what is news at once."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import msgspec

from datamill.experiment.errors import InputError
from datamill.experiment.experiment import HardwareDimension
from datamill.protocol.fleet import Inventory, Policy
from datamill.service.coordinator.joining.enrolment import check_versions
from datamill.service.coordinator.joining.hardware import check_numbers, digest_hardware, list_hardware_levels
from datamill.service.coordinator.leasing.entries import WorkerEntry
from datamill.service.coordinator.leasing.ledger import Ledger
from datamill.service.coordinator.registry.policy_names import check_policy_names
from datamill.service.coordinator.state.events import EventKind, NewEvent
from datamill.service.coordinator.state.rows import select_rows, update_rows
from datamill.service.models import FleetWorker

_INVENTORY = msgspec.json.Decoder(Inventory)
_MACHINES = """
SELECT worker_id, name, inventory, policy, hardware FROM datamill_worker WHERE worker_id IN {list}
"""


@dataclass(frozen=True, slots=True)
class _Machine:
    """A machine as it is known; inventory and policy are JSON as they were told."""

    name: str
    inventory: bytes
    policy: bytes
    hardware: Mapping[HardwareDimension, str]


@dataclass(frozen=True, slots=True)
class MachineBook:
    """The machines of a batch."""

    _known: dict[str, _Machine] = field(default_factory=dict)
    _changed: set[str] = field(default_factory=set)

    def load(self, worker_ids: Collection[str]) -> None:
        """Read what is known of machines."""
        for worker_id, name, inventory, policy, hardware in select_rows(_MACHINES, sorted(worker_ids)):
            levels = json.loads(hardware) if isinstance(hardware, str) else hardware
            self._known[worker_id] = _Machine(name, bytes(inventory), bytes(policy), levels)

    def note(self, ledger: Ledger, worker: WorkerEntry, inventory: bytes, policy: Policy) -> None:
        """Take in what a machine of those that were read tells.

        It is drained when we cannot speak with it, or its policy forbids what is no factor.

        Raises:
            msgspec.MsgspecError: when the inventory cannot be read, or holds numbers without end.
        """
        machine = self._known[worker.worker_id]
        told = inventory, msgspec.json.encode(policy)
        decoded = _INVENTORY.decode(inventory)
        if (machine.inventory, machine.policy) == told:
            return
        try:
            for item in (decoded, policy):
                check_numbers(item)
        except InputError as error:
            raise msgspec.ValidationError(error.message) from None
        hardware = list_hardware_levels(decoded) | {"machine": machine.name}
        details = [
            f"{name}: {machine.hardware.get(name)} before, {level} now"
            for name, level in hardware.items()
            if machine.hardware.get(name) != level
        ]
        self._known[worker.worker_id] = _Machine(machine.name, *told, dict(hardware))
        self._changed.add(worker.worker_id)
        try:
            check_versions(decoded)
        except InputError as error:
            details.append(error.message)
            ledger.drain(worker, error.message)
        if machine.policy != told[1]:
            try:
                check_policy_names(policy)
            except InputError as error:
                why = f"{error.where}: {error.message}. {error.remedy}"
                details.append(why)
                ledger.drain(worker, why)
        if details:
            ledger.events.append(
                NewEvent(EventKind.CHANGED, worker_id=worker.worker_id, detail="; ".join(details))
            )

    def write(self) -> None:
        """Write what changed."""
        rows = []
        for worker_id in sorted(self._changed):
            machine = self._known[worker_id]
            key, hardware = digest_hardware(machine.hardware), json.dumps(machine.hardware)
            rows.append((worker_id, machine.inventory, machine.policy, hardware, key))
        update_rows(FleetWorker, ("inventory", "policy", "hardware", "hardware_key"), rows)
