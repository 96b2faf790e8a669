"""Which events of the kernel are asked for, what each shows, and what is not seen where one is missing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

#: Functions that fill a processor's cache of kernel objects, by kernel: SLAB up to 6.7; SLUB; sheaves from
#: 6.18 on.
REFILLS = (
    "cache_alloc_refill",
    "___slab_alloc",
    "__pcs_replace_empty_main",
    "refill_sheaf",
    "refill_objects",
)
#: Functions that get pages for a slab; those above count too where these were inlined.
SLAB_PAGES = ("allocate_slab", "new_slab", "cache_grow_begin", "kmem_getpages", *REFILLS)


@dataclass(frozen=True, slots=True)
class Probe:
    """An event of the kernel, by its path among them; `missing` says what does not show without it."""

    path: str
    missing: str = ""

    @property
    def name(self) -> str:
        """The event without its group."""
        return self.path.rpartition("/")[2]


#: In the threads of the program. Those with nothing to say are seen elsewhere, or were another kernel's.
CALL_PROBES = (
    Probe("kmem/mm_page_alloc", "pages that the kernel allocated in a call"),
    Probe("sched/sched_switch", "for how long a call left its processor"),
    Probe("exceptions/page_fault_kernel", "page faults in a call"),
    Probe("block/block_bio_queue", "block requests that a call queued"),
    Probe("block/block_bio_backmerge"),
    Probe("block/block_bio_frontmerge"),
    Probe("block/block_split"),
    Probe("block/block_bio_bounce"),
    Probe("swiotlb/swiotlb_bounced"),
)
#: On all processors: who hands a request over, and who hears of its end, is often another thread.
REQUEST_PROBES = (
    Probe("block/block_bio_queue", "block requests"),
    Probe("block/block_bio_backmerge", "block requests that were merged"),
    Probe("block/block_bio_frontmerge"),
    Probe("block/block_split", "block requests that were split"),
    Probe("block/block_rq_insert", "block requests that waited in a scheduler's queue"),
    Probe("block/block_rq_issue", "when a block request reached its device"),
    Probe("block/block_rq_complete", "when a block request was answered"),
    Probe("block/block_bio_complete"),
    # Linux bounced in the block layer until 6.15; since then where devices reach too little memory.
    Probe("block/block_bio_bounce"),
    Probe("swiotlb/swiotlb_bounced", "block requests that were bounced"),
)
ENTER, EXIT = "sys_enter_", "sys_exit_"


def list_missing(probes: Collection[Probe], offered: Collection[str]) -> list[str]:
    """Say what does not show on a kernel that offers only some events, a clause each."""
    return [
        f"{probe.missing}: this kernel has no event {probe.path}"
        for probe in probes
        if probe.missing and probe.path not in offered
    ]
