"""One quantile fit by one program, alone in its process: prints time, memory and coefficients as JSON.

Called by `quantiles.py` with the interpreter that has the program: FOLDER MODEL PROGRAM. The folder holds
`cells.npy` (u32), `values.npy` and `covariate.npy` (f64).
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

QUANTILES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99]
#: Repetitions end when this much time has gone by.
LONG_ENOUGH_S = 2.0
MOST_REPEATS = 51


def code_cells(order: int) -> Any:
    """Design of a 2^4 experiment over its 16 cells, with interactions up to an order."""
    levels = np.array(list(product((-1.0, 1.0), repeat=4)))
    terms = [term for size in range(order + 1) for term in combinations(range(4), size)]
    return np.column_stack([np.prod(levels[:, list(term)], axis=1) for term in terms])


def build_matrix(model: str, cells: Any, covariate: Any) -> Any:
    """Model matrix by rows (n × p): S16, U11 or C17."""
    matrix = code_cells(2 if model == "U11" else 4)[cells]
    return np.column_stack([matrix, covariate]) if model == "C17" else matrix


def choose_fit(program: str, model: str, folder: Path) -> Callable[[], Any]:
    """A function that fits all quantiles and returns coefficients (T × p); its input is made before."""
    cells, values = np.load(folder / "cells.npy"), np.load(folder / "values.npy")
    covariate = np.load(folder / "covariate.npy") if model == "C17" else None
    if program.startswith("datamill"):
        return choose_ours(program, model, cells, values, covariate)
    matrix = build_matrix(model, cells, covariate)
    if program == "statsmodels":
        from statsmodels.regression.quantile_regression import QuantReg

        return lambda: [QuantReg(values, matrix).fit(q=tau).params for tau in QUANTILES]
    if program == "scikit-learn":
        from sklearn.linear_model import QuantileRegressor

        def fit_sklearn() -> Any:
            return [
                QuantileRegressor(quantile=tau, alpha=0, fit_intercept=False, solver="highs")
                .fit(matrix, values)
                .coef_
                for tau in QUANTILES
            ]

        return fit_sklearn
    if program == "pyfixest":
        import pandas as pd
        import pyfixest as pf

        names = [f"x{column}" for column in range(1, matrix.shape[1])]
        table = pd.DataFrame(matrix[:, 1:], columns=names).assign(y=values)
        formula = "y ~ " + " + ".join(names)

        def fit_pyfixest() -> Any:
            fits = [pf.quantreg(formula, data=table, quantile=tau, method="fn") for tau in QUANTILES]
            return [fit.coef().to_numpy() for fit in fits]

        # It compiles itself at the first call.
        pf.quantreg("y ~ x1", data=table.head(1000), quantile=0.5, method="fn")
        return fit_pyfixest
    raise SystemExit(f"no program is called {program}")


def choose_ours(program: str, model: str, cells: Any, values: Any, covariate: Any) -> Callable[[], Any]:
    from datamill import _native

    design = code_cells(2 if model == "U11" else 4)
    if model == "C17":
        by_cell = np.column_stack([design, np.ones(16)])
        of_product = np.array([-1] * 16 + [0], dtype=np.int64)
        products = covariate[None, :]
        quantiles = np.array(QUANTILES)
        return lambda: _native.fit_general(by_cell, cells, products, of_product, values, quantiles)[0]
    if model == "S16" and program == "datamill":
        inverse = np.linalg.inv(design)
        return lambda: _native.select_cell_quantiles(cells, values, 16, QUANTILES) @ inverse.T
    if program == "datamill, sorted before":
        sorted_cells = _native.SortedCells(cells, values, 16)
        return lambda: sorted_cells.fit(design, QUANTILES).coefficients
    return lambda: _native.fit_cells(cells, values, design, QUANTILES).coefficients


def read_memory(field: str) -> int:
    """Bytes that the kernel says: VmRSS now or VmHWM at most."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"no {field} in /proc/self/status")


def main() -> None:
    """Fit, several times if that is quick, and print what it took."""
    folder, model, program = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    fit = choose_fit(program, model, folder)
    before = read_memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    cpu: list[float] = []
    wall: list[float] = []
    coefficients = None
    began = time.perf_counter()
    while not cpu or (time.perf_counter() - began < LONG_ENOUGH_S and len(cpu) < MOST_REPEATS):
        usage, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        coefficients = fit()
        wall.append(time.perf_counter() - start)
        now = resource.getrusage(resource.RUSAGE_SELF)
        cpu.append(now.ru_utime - usage.ru_utime)
        if len(cpu) == 1:
            extra = max(0, read_memory("VmHWM") - before)
    print(
        json.dumps(
            {
                "user_s": statistics.median(cpu),
                "wall_s": statistics.median(wall),
                "repeats": len(cpu),
                "extra_bytes": extra,
                "coefficients": np.asarray(coefficients, dtype=float).tolist(),
            }
        )
    )


if __name__ == "__main__":
    main()
