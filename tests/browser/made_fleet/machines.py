"""Machines of a believable fleet, and what their workers tell of them."""

from __future__ import annotations

from typing import Any

MACHINES = (
    # name, arch, model, kHz, cores, GiB, distribution, kernel, compiler, counters, reboot
    ("lab-1", "x86_64", "Xeon E-2278G", 5_000_000, 16, 64, "debian 12", "6.1.0-25", "12.2.0", True, True),
    ("lab-2", "x86_64", "Xeon E-2278G", 5_000_000, 16, 64, "debian 12", "6.1.0-25", "12.2.0", True, True),
    ("ryzen", "x86_64", "Ryzen 9 5950X", 4_900_000, 32, 128, "ubuntu 24.04", "6.8.0", "13.2.0", True, True),
    ("atom", "x86_64", "Atom D510", 1_660_000, 4, 2, "debian 12", "6.1.0-25", "12.2.0", False, False),
    ("pi-4", "aarch64", "Cortex-A72", 1_800_000, 4, 4, "debian 12", "6.6.31-v8", "12.2.0", False, True),
    ("altra", "aarch64", "Neoverse-N1", 3_000_000, 80, 256, "debian 13", "6.12.5", "14.2.0", True, True),
)  # fmt: skip


def make_inventory(machine: tuple[Any, ...], now: float) -> Any:
    """The inventory that the worker of a machine reports."""
    from datamill.experiment.factors.catalogue import FACTORS
    from datamill.protocol.fleet import FLEET_SCHEMA_VERSION, CacheFacts, CompilerVersion, Inventory
    from datamill.protocol.offers import FactorOffer, MissingLevel
    from datamill.protocol.trial import SCHEMA_VERSION, HostFacts

    name, arch, model, khz, cores, memory, distribution, kernel, compiler, counters, _ = machine
    offers = []
    for factor in FACTORS.values():
        levels = factor.levels or (
            ("performance", "powersave") if factor.name == "governor" else ("tsc", "hpet")
        )
        missing: tuple[MissingLevel, ...] = ()
        if factor.name == "allocator":
            levels, missing = (
                ("glibc", "jemalloc"),
                (MissingLevel("mimalloc", "libmimalloc is not installed"),),
            )
        if factor.name == "turbo" and arch == "aarch64":
            offers.append(FactorOffer("turbo", factor.stage, (), reason="the machine has no such setting"))
            continue
        if factor.name == "reboot":
            levels = ("none",)
        offers.append(FactorOffer(factor.name, factor.stage, levels, missing, levels[0] if levels else None))
    return Inventory(
        schema=FLEET_SCHEMA_VERSION,
        trial_schema=SCHEMA_VERSION,
        worker_version="0.1.0",
        hostname=name,
        host=HostFacts(arch, kernel, model, cores, memory << 30, f"boot-{name}"),
        clock_khz=khz,
        caches=(
            CacheFacts(1, "data", 32 << 10),
            CacheFacts(2, "unified", 1 << 20),
            CacheFacts(3, "unified", 16 << 20),
        ),
        distribution=distribution,
        compilers=(CompilerVersion("gcc", compiler), CompilerVersion("clang", "14.0.6")),
        counters=counters,
        isolation="confined",
        root=True,
        free_disk_bytes=200 << 30,
        factors=tuple(offers),
        clock_unix_ns=int(now * 1e9),
    )
