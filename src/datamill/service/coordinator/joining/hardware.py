"""What distinguishes machines, from what their workers tell of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from datamill.design.fleet.fleet_records import Candidate
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import HardwareDimension
from datamill.experiment.quantities import round_memory
from datamill.protocol.fleet import Inventory, Policy
from datamill.protocol.offers import FactorOffer
from datamill.service.coordinator.state.events import clean_text
from datamill.service.models import FleetWorker

_MIB = 1 << 20
_UNKNOWN = "unknown"
_MOST_NUMBER = 1 << 63
_INVENTORY = msgspec.json.Decoder(Inventory)
_POLICY = msgspec.json.Decoder(Policy)


def list_hardware_levels(inventory: Inventory) -> dict[HardwareDimension, str]:
    """Return a machine's level in each hardware dimension.

    Sizes and clocks are rounded as data sheets give them, so that equal machines have equal levels.
    `machine` is the host's own name until the fleet gives it another.
    """
    host = inventory.host
    levels: dict[HardwareDimension, str] = {
        "arch": host.arch,
        "cpu_model": host.cpu_model,
        "clock": f"{inventory.clock_khz / 1e6:.1f} GHz" if inventory.clock_khz else _UNKNOWN,
        "cores": str(host.cores),
        "cache": _describe_cache(inventory),
        "memory": round_memory(host.memory_bytes) or _UNKNOWN,
        "kernel": host.kernel,
        "distribution": inventory.distribution,
        "compiler": _describe_compiler(inventory),
        "machine": inventory.hostname,
    }
    return {dimension: clean_text(level, 200) or _UNKNOWN for dimension, level in levels.items()}


def check_numbers(told: Inventory | Policy) -> None:
    """Refuse numbers that no machine has, and with which nothing can be computed.

    Raises:
        InputError: when one has more than 63 bits.
    """
    pending = [msgspec.to_builtins(told)]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
        elif isinstance(item, int) and not -_MOST_NUMBER <= item < _MOST_NUMBER:
            raise InputError("no machine has a number of more than 63 bits", where="inventory")


def _describe_cache(inventory: Inventory) -> str:
    """The largest cache: that of the last level."""
    if not inventory.caches:
        return _UNKNOWN
    size = max(inventory.caches, key=lambda cache: (cache.level, cache.size_bytes)).size_bytes
    return f"{size / _MIB:g} MiB" if size >= _MIB else f"{size / 1024:g} KiB"


def _describe_compiler(inventory: Inventory) -> str:
    """The one that packages get who ask for `cc`: GCC where there is one."""
    ranked = sorted(inventory.compilers, key=lambda item: (item.name != "gcc", item.name))
    return f"{ranked[0].name} {ranked[0].version}" if ranked else "none"


def digest_hardware(hardware: Mapping[HardwareDimension, str]) -> str:
    """Return a text that is equal for machines that differ in `machine` alone: such are equivalent."""
    levels = sorted((name, level) for name, level in hardware.items() if name != "machine")
    return hashlib.sha256(msgspec.json.encode(levels)).hexdigest()


def read_inventory(worker: FleetWorker) -> Inventory:
    """Return what a worker last told of its machine."""
    return _INVENTORY.decode(bytes(worker.inventory))


def read_policy(worker: FleetWorker) -> Policy:
    """Return what the owner of a machine allows."""
    return _POLICY.decode(bytes(worker.policy))


def find_guest_objection(worker: FleetWorker, isolation: str) -> str:
    """Return why a worker cannot isolate trials as wanted, empty when it can: not each has guests."""
    guest = read_inventory(worker).guest
    return f"it has no guests: {guest.reason}" if isolation == "guest" and guest.accelerator is None else ""


def list_worker_offers(worker: FleetWorker, isolation: str) -> tuple[FactorOffer, ...]:
    """Return what a worker offers of each factor: its machine, or a guest on it."""
    inventory = read_inventory(worker)
    return inventory.guest.factors if isolation == "guest" else inventory.factors


def describe_candidate(worker: FleetWorker, free_s: float, isolation: str = "auto") -> Candidate:
    """Return a worker as the choice of workers sees it; it is free in `free_s` seconds."""
    inventory, policy = read_inventory(worker), read_policy(worker)
    offers = list_worker_offers(worker, isolation)
    return Candidate(
        worker_id=worker.worker_id,
        name=worker.name,
        hardware=dict(worker.hardware),
        offers={offer.name: offer for offer in offers if offer.name not in policy.forbidden_factors},
        memory_bytes=inventory.host.memory_bytes,
        cores=inventory.host.cores,
        clock_khz=inventory.clock_khz or 0,
        counters=inventory.counters,
        reboot=policy.reboot,
        boot_parameters=policy.boot_parameters,
        kernels=policy.kernels,
        cross={item.arch: item.compiler for item in inventory.cross},
        free_s=free_s,
    )
