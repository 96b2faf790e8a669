"""What is counted in a traced program: the events of Table 2.1, and others that take the slow path."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AllocationEvent:
    """A kind of event.

    Args:
        name: in JSON.
        title: in tables.
        meaning: one sentence.
        published: whether it is one of the five of Table 2.1.
        native: whether it happens in native programs; `interpreted`, in interpreters.
    """

    name: str
    title: str
    meaning: str
    published: bool = False
    native: bool = False
    interpreted: bool = True


#: In the order of the ledger (`crates/trace/src/events.rs`).
EVENTS = (
    AllocationEvent(
        "pool_init", "Pool init", "A pool of the object allocator was taken into use.", published=True
    ),
    AllocationEvent("new_arena", "New arena", "An arena of the object allocator was mapped.", published=True),
    AllocationEvent("dict_resize", "Dict resize", "A dictionary got another table of keys.", published=True),
    AllocationEvent("set_resize", "Set resize", "A set got another table.", published=True),
    AllocationEvent("list_resize", "List resize", "The items of a list were reallocated.", published=True),
    AllocationEvent("tuple_resize", "Tuple resize", "A tuple was reallocated while it was made."),
    AllocationEvent("str_resize", "Str resize", "A text was reallocated."),
    AllocationEvent("bytes_resize", "Bytes resize", "A bytes object was reallocated."),
    AllocationEvent(
        "memory_map",
        "Memory map",
        "Memory was mapped: for an arena, the frame stack, or one large block.",
        native=True,
    ),
    AllocationEvent(
        "heap_extend",
        "Heap extend",
        "The heap of a native program was extended.",
        native=True,
        interpreted=False,
    ),
    AllocationEvent(
        "cache_refill",
        "Cache refill",
        "The cache of a thread had no block of the size, and the allocator took its longer path.",
        native=True,
        interpreted=False,
    ),
    AllocationEvent(
        "page_fault",
        "Page fault",
        "The kernel mapped in a page as the allocator of a native program touched it.",
        native=True,
        interpreted=False,
    ),
)
