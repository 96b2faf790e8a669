"""Where functions of the running kernel lie, by its own list (`/proc/kallsyms`)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from pathlib import Path

_KALLSYMS = Path("/proc/kallsyms")


def find_code(
    wanted: Mapping[str, Collection[str]], kallsyms: Path = _KALLSYMS
) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the address ranges of functions, a group of names a key; none where the kernel hides addresses.

    A function that the compiler cut into parts (`name.isra.0`, `name.cold`) is all of them.
    """
    group_of: dict[str, list[str]] = {}
    for group, names in wanted.items():
        for name in names:
            group_of.setdefault(name, []).append(group)
    addresses, begins = [], []
    try:
        with kallsyms.open(encoding="ascii", errors="replace") as lines:
            for line in lines:
                address, kind, name = line.split(maxsplit=3)[:3]
                if kind in "tTwW":
                    begin = int(address, 16)
                    addresses.append(begin)
                    groups = group_of.get(name.partition(".")[0])
                    if groups and begin:
                        begins.append((begin, groups))
    except OSError:
        return dict.fromkeys(wanted, ())
    addresses = sorted(set(addresses))
    found: dict[str, list[tuple[int, int]]] = {group: [] for group in wanted}
    for begin, groups in begins:
        after = bisect_right(addresses, begin)
        if after < len(addresses):
            for group in groups:
                found[group].append((begin, addresses[after]))
    return {group: tuple(ranges) for group, ranges in found.items()}
