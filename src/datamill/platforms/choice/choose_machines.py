"""On which machines to measure an application, chosen from the suite's scores alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from datamill.experiment.errors import InputError
from datamill.experiment.messages.arguments import argument
from datamill.experiment.messages.phrases import count_nouns, list_first
from datamill.platforms.choice.platform_choice import ChosenMachine, MachineChoice
from datamill.platforms.ensemble.inference import ENSEMBLE_METHODS, FEWEST_TAKEN
from datamill.platforms.ensemble.pseudo_applications import predict_pseudo_applications
from datamill.platforms.ensemble.stacking import weigh_members
from datamill.platforms.methods.variance_reduction import choose_greedily
from datamill.platforms.prediction.missing_cells import fill_cells
from datamill.platforms.scores.score_matrix import FloatArray, IntArray, ScoreMatrix

#: Random choices that the chosen machines are compared with.
_DRAWS = 9


def choose_machines(
    matrix: ScoreMatrix,
    count: int,
    *,
    always: Sequence[str] = (),
    among: Sequence[str] | None = None,
    seed: int = 0,
) -> MachineChoice:
    """Choose machines that tell most about all others (`choose_greedily`).

    Args:
        matrix: the suite.
        count: how many, those in `always` included.
        always: machines that are measured in any case.
        among: machines that can be measured; all by default.
        seed: draws the random choices that this one is compared with.

    Raises:
        InputError: the count is outside its range, or a machine is not in the suite.
    """
    known = np.isfinite(matrix.seconds)
    few = max(1, min(3, (len(matrix.benchmarks) + 1) // 2))
    rows = np.flatnonzero(known.sum(axis=1) >= few)
    kept = known[rows].any(axis=0)
    names = [matrix.machines[row] for row in rows]
    lost = [name for name in matrix.machines if name not in names]
    chosen_always = _find_rows(names, always, "always")
    allowed = None if among is None else _find_rows(names, among, "among")
    most = len(set(range(len(names)) if allowed is None else allowed) | set(chosen_always))
    if not max(1, len(set(chosen_always))) <= count <= most:
        raise InputError(
            f"{count} of {count_nouns(most, 'machine')} cannot be chosen",
            where=argument("count", verb="platforms choose"),
            remedy=f"Ask for {max(1, len(set(chosen_always)))} to {most}.",
        )
    observed = known[rows][:, kept]
    logs = fill_cells(np.log(matrix.seconds[rows][:, kept]))
    order, left = choose_greedily(logs, count, tuple(dict.fromkeys(chosen_always)), allowed)
    draws = np.random.default_rng(seed)
    random_errors = [
        _find_error(logs, observed, draws.permutation(len(names))[:count]) for _ in range(_DRAWS)
    ]
    warnings = []
    if lost:
        warnings.append(
            f"{list_first(lost, 4)}: too few scores to be chosen, or to be told about by those chosen."
        )
    if not observed.all():
        warnings.append(f"{int((~observed).sum())} of {observed.size} scores are missing and were filled in.")
    return MachineChoice(
        tuple(ChosenMachine(names[row], share) for row, share in zip(order, left, strict=True)),
        _find_error(logs, observed, np.asarray(order)),
        float(np.median([error for error in random_errors if np.isfinite(error)] or [np.nan])),
        tuple(warnings),
    )


def _find_rows(names: Sequence[str], asked: Sequence[str], about: str) -> list[int]:
    """Rows of machines.

    Raises:
        InputError: one is not in the suite, or has too few scores.
    """
    for name in asked:
        if name not in names:
            raise InputError(
                f'the suite has no machine "{name}" with enough scores',
                where=argument(about, verb="platforms choose"),
                remedy=f"It has {list_first(sorted(names), 8)}.",
            )
    return [names.index(name) for name in asked]


def _find_error(logs: FloatArray, observed: NDArray[np.bool_], rows: IntArray) -> float:
    """Median error for the suite's benchmarks with these machines trained; NaN where nothing tells."""
    rest = np.setdiff1d(np.arange(len(logs)), rows)
    order = np.concatenate([rows, rest])
    if not len(rest):
        return float("nan")
    pseudo = predict_pseudo_applications(logs[order], observed[order], len(rows), ENSEMBLE_METHODS)
    if len(pseudo.taken) < FEWEST_TAKEN:
        return float("nan")
    errors = np.einsum("b,bpm->pm", weigh_members(pseudo.errors), pseudo.errors)
    return float(np.nanmedian(np.abs(np.expm1(errors))))
