"""The suite and the application as the methods take them: logarithms, trained machines first, no gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import list_first
from datamill.platforms.prediction.missing_cells import fill_cells
from datamill.platforms.scores.score_matrix import ApplicationTimes, FloatArray, ScoreMatrix


@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    """A suite and an application, ready to be predicted.

    `logs` (n × p) are logarithms of the suite with gaps filled in, machines in `trained` before those in
    `targets`; `observed` says which were measured. `unusable` are targets with too few scores of benchmarks
    that a trained machine has, and how many they have. `suite_noise` is the standard error of a typical
    score's logarithm, 0 where nothing is known of it. `warnings` say what was left out.
    """

    benchmarks: tuple[str, ...]
    trained: tuple[str, ...]
    targets: tuple[str, ...]
    unusable: tuple[tuple[str, int], ...]
    logs: FloatArray
    observed: NDArray[np.bool_]
    times: FloatArray
    times_noise: FloatArray
    suite_noise: float
    warnings: tuple[str, ...]


def arrange_application(matrix: ScoreMatrix, application: ApplicationTimes) -> Arranged:
    """Arrange a suite and an application; each machine of the suite without a time is a target.

    Raises:
        InputError: no machine has both scores and a time of the application.
    """
    known: NDArray[np.bool_] = np.isfinite(matrix.seconds)
    few = max(1, min(3, (len(matrix.benchmarks) + 1) // 2))
    enough = {name: int(count) >= few for name, count in zip(matrix.machines, known.sum(axis=1), strict=True)}
    times = dict(zip(application.machines, range(len(application.machines)), strict=True))
    trained = tuple(name for name in matrix.machines if name in times and enough[name])
    warnings = []
    dropped = [name for name in matrix.machines if name in times and not enough[name]]
    if dropped:
        warnings.append(
            f"{list_first(dropped, 4)} measured the application and cannot be used: the suite has fewer than "
            f"{few} scores there."
        )
    if not trained:
        raise InputError(
            "no machine has both scores of the suite and a time of the application",
            remedy="Measure the application on a machine that the suite lists, under the same name.",
        )
    places = {name: row for row, name in enumerate(matrix.machines)}
    seen = np.asarray(known[[places[name] for name in trained]].any(axis=0), dtype=np.bool_)
    # What a target has of other benchmarks alone says nothing of it beside the trained machines.
    shared = {name: int(known[places[name], seen].sum()) for name in matrix.machines if name not in times}
    usable = tuple(name for name, count in shared.items() if count >= few)
    unusable = tuple((name, count) for name, count in shared.items() if count < few)
    rows = [places[name] for name in (*trained, *usable)]
    if not seen.all():
        lost = [name for name, kept in zip(matrix.benchmarks, seen.tolist(), strict=True) if not kept]
        warnings.append(
            f"{list_first(lost, 4)}: no score on any machine that measured the application; left out."
        )
    logs = np.log(matrix.seconds[rows][:, seen])
    observed = np.isfinite(logs)
    gaps = int((~observed).sum())
    if gaps:
        warnings.append(
            f"{gaps} of {observed.size} scores are missing and were filled in from similar machines."
        )
    own = [times[name] for name in trained]
    return Arranged(
        tuple(name for name, kept in zip(matrix.benchmarks, seen.tolist(), strict=True) if kept),
        trained,
        usable,
        unusable,
        fill_cells(logs),
        observed,
        np.log(application.seconds[own]),
        application.noise[own],
        _find_noise(matrix.noise[rows][:, seen]),
        tuple(warnings),
    )


def _find_noise(noise: FloatArray) -> float:
    """The median of standard errors that are known; 0 without any."""
    known = noise[np.isfinite(noise)]
    return float(np.median(known)) if len(known) else 0.0
