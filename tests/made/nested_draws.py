"""Three nested levels of chance, drawn with known variances."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from datamill.analysis.random_effects.nested_data.nested_values import NestedValues


def draw_version(
    rng: np.random.Generator,
    name: str = "v",
    shape: tuple[int, int, int] = (10, 3, 4),
    *,
    mean: float = 100.0,
    spreads: tuple[float, float, float] = (2.0, 1.0, 3.0),
) -> NestedValues:
    """A version of `shape` builds × executions × measurements; `spreads` are σ_V, σ_B, σ_E."""
    builds, executions, measurements = shape
    of_build = mean + spreads[0] * rng.standard_normal(builds)
    of_execution = np.repeat(of_build, executions) + spreads[1] * rng.standard_normal(builds * executions)
    total = builds * executions * measurements
    values = np.repeat(of_execution, measurements) + spreads[2] * rng.standard_normal(total)
    return NestedValues(
        version=name,
        response="latency",
        unit="ms",
        values=values,
        executions=np.arange(0, total + 1, measurements),
        builds=np.arange(0, builds * executions + 1, executions),
    )


def take_one_build(values: NestedValues) -> NestedValues:
    """The first build of a version alone."""
    last = int(values.builds[1])
    return NestedValues(
        version=values.version,
        response=values.response,
        unit=values.unit,
        values=values.values[: values.executions[last]],
        executions=values.executions[: last + 1],
        builds=np.array([0, last]),
    )


def write_csv(file: Path, versions: list[NestedValues]) -> Path:
    """A table of versions with the usual columns."""
    lines = ["version,build,execution,measurement,value,unit"]
    for item in versions:
        for build in range(item.build_count):
            for execution in range(item.builds[build], item.builds[build + 1]):
                part = item.values[item.executions[execution] : item.executions[execution + 1]]
                lines += [
                    f"{item.version},{build},{execution},{at},{value!r},{item.unit}"
                    for at, value in enumerate(part.tolist())
                ]
    file.write_text("\n".join(lines) + "\n")
    return file
