"""What forms call the built-in responses, for readers who know no statistics."""

from __future__ import annotations

#: Built-in responses in plain words, in the order in which they are offered.
RESPONSE_WORDS: dict[str, str] = {
    "wall_time_s": "time from start to end",
    "user_time_s": "processor time in the program itself",
    "system_time_s": "processor time in the kernel",
    "peak_memory_bytes": "most memory in use",
    "minor_faults": "page faults served from memory",
    "major_faults": "page faults that waited for a disk",
    "voluntary_switches": "times that it waited for something",
    "involuntary_switches": "times that it was interrupted by others",
    "cycles": "processor cycles",
    "instructions": "instructions",
    "cache_references": "accesses to the last cache",
    "cache_misses": "misses of the last cache",
    "branches": "branches",
    "branch_misses": "branches guessed wrongly",
    "context_switches": "switches between programs",
    "cpu_migrations": "moves to another processor",
    "page_faults": "all page faults",
    "task_clock_ns": "processor time, by the kernel's counter",
}
