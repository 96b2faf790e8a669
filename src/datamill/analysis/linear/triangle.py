"""Systems with an upper triangle, as a QR decomposition leaves them."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtrs

from datamill.analysis.model_data.cells import FloatArray

#: Up to this size substitution row by row is faster than waking the threads of a library.
_SMALL = 64


def solve_triangle(triangle: FloatArray, right: FloatArray, *, transposed: bool = False) -> FloatArray:
    """Solve R x = b, or Rᵀ x = b: R p × p with no zero on its diagonal, b p or p × m.

    For the small systems of a model scipy's `solve_triangular` takes milliseconds on a busy machine,
    in threads that wait for each other.
    """
    size = triangle.shape[0]
    if size > _SMALL:
        solution, info = dtrtrs(triangle, right, trans=1 if transposed else 0)
        if info != 0:
            raise ZeroDivisionError(f"the triangle's diagonal has a zero at {info}")
        return np.asarray(solution, dtype=np.float64).reshape(right.shape)
    result = np.array(right, dtype=np.float64)
    rows = triangle.T if transposed else triangle
    for row in range(size) if transposed else range(size - 1, -1, -1):
        known = slice(0, row) if transposed else slice(row + 1, size)
        result[row] = (result[row] - rows[row, known] @ result[known]) / rows[row, row]
    return result
