"""Stacks in the form that drawers of flame graphs read: frames from the outermost on, and a count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from datamill.allocators.trace import AllocationTrace


def fold_stacks(trace: AllocationTrace) -> Iterator[str]:
    """Give each stack in a line: the event, its frames from the outermost on, and its count."""
    for stack in trace.stacks:
        frames = [
            f"{frame.function} ({PurePath(frame.file).name}{f':{frame.line}' if frame.line else ''})".replace(
                ";", ","
            )
            for frame in reversed(stack.frames)
        ]
        yield f"{';'.join([stack.event, *frames])} {stack.count}"
