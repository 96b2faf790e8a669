"""Kernels in Rust (`crates/numeric`, wrapped by `crates/python`)."""

import numpy as np
from numpy.typing import NDArray

def gather_moments(
    cell_of_row: NDArray[np.uint32], values: NDArray[np.float64], cells: int, origin: float
) -> tuple[
    NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
]:
    """Return counts, means, sums of squares, minima and maxima of `values - origin` by cell."""
