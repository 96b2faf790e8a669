"""The part of a traced program that is to be counted; nothing happens where the program is not traced.

Imports no more than it needs: what is imported in a traced program changes what is counted there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


def enable() -> bool:
    """Begin counting with `datamill allocators trace --regions`; return whether anything began."""
    return _call("datamill_trace_enable")


def disable() -> bool:
    """End what `enable` began; return whether anything ended."""
    return _call("datamill_trace_disable")


@contextmanager
def region() -> Iterator[None]:
    """Count what happens within, with `datamill allocators trace --regions`.

    Regions may lie in each other.
    """
    begin, end = _find("datamill_trace_enable"), _find("datamill_trace_disable")
    begin()
    try:
        yield
    finally:
        end()


def _call(name: str) -> bool:
    return bool(_find(name)())


def _find(name: str) -> Callable[[], int]:
    try:
        import ctypes

        # Keeps the interpreter's lock, under which the allocator may be changed.
        found: Callable[[], int] = getattr(ctypes.PyDLL(None), name)
    except (ImportError, AttributeError, OSError):
        return lambda: 0
    return found
