"""Libraries that take a fifth of a second to load, each loaded when something of it is first used.

Most commands draw nothing, and many read no table. A module that needs one of them only in some of its
functions takes it from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt
    import jinja2
    import polars as pl
    import vl_convert
    from scipy.cluster import hierarchy
else:
    from importlib import import_module

    class _Late:
        """Has what the module of that name has."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    alt = _Late("altair")
    hierarchy = _Late("scipy.cluster.hierarchy")
    jinja2 = _Late("jinja2")
    pl = _Late("polars")
    vl_convert = _Late("vl_convert")

__all__ = ["alt", "hierarchy", "jinja2", "pl", "vl_convert"]
