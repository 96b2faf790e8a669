"""P-values in sentences."""

from __future__ import annotations


def say_p(p: float) -> str:
    """`= 0.012`, or `< 1e-300` beyond the range of a double."""
    return f"= {p:.2g}" if p >= 1e-300 else "< 1e-300"
