"""The folder of an evaluation: finished parts, so that a second start goes on where the first one ended."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np

import datamill
from datamill.experiment.errors import InputError
from datamill.platforms.evaluation.evaluate_part import PartErrors
from datamill.platforms.evaluation.evaluation_plan import EvaluationPart, EvaluationPlan
from datamill.platforms.scores.score_matrix import ScoreMatrix
from datamill.results.bundles.replaced_file import replace_file

_HEAD = "evaluation.json"


class EvaluationFolder:
    """Finished parts of one matrix, pool, seed and number of draws; strategies and sizes may be added."""

    def __init__(self, path: Path, matrix: ScoreMatrix, plan: EvaluationPlan) -> None:
        """Make the folder, or open the one that is there.

        Raises:
            InputError: it is of another evaluation, or something else is there.
        """
        self._path, self._plan = path, plan
        head = _describe(matrix, plan)
        file = path / _HEAD
        if file.exists():
            _compare(file, head)
            return
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InputError(
                "there is something else already",
                where=str(path),
                remedy="Name a new folder for the evaluation, or one that an evaluation made.",
            )
        path.mkdir(parents=True, exist_ok=True)
        replace_file(file, [json.dumps(head, indent=1, ensure_ascii=False).encode()])

    def read_part(self, part: EvaluationPart) -> PartErrors | None:
        """The errors of a part; None where it is not finished, or its file is damaged."""
        file = self._locate(part)
        try:
            with np.load(file, allow_pickle=False) as kept:
                errors = PartErrors(
                    part,
                    kept["nrmse"],
                    kept["adjusted_r2"],
                    kept["predictors"],
                    kept["relative"],
                )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            # A part is soon evaluated again.
            return None
        targets = len(self._plan.machines) - part.size
        shape = (len(part.variants), len(self._plan.applications), part.stop - part.start, targets)
        return errors if errors.relative.shape == shape else None

    def write_part(self, errors: PartErrors) -> None:
        """Keep the errors of a finished part."""
        file = self._locate(errors.part)
        file.parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.savez(
            content,
            nrmse=errors.nrmse,
            adjusted_r2=errors.adjusted_r2,
            predictors=errors.predictors.astype(np.float32),
            relative=errors.relative,
        )
        replace_file(file, [content.getvalue()])

    def _locate(self, part: EvaluationPart) -> Path:
        names = [
            f"{variant.strategy}-at-most-{variant.limit}" if variant.limit else variant.strategy
            for variant in part.variants
        ]
        file = f"sets-{part.start}-to-{part.stop - 1}.npz"
        return self._path / "parts" / "+".join(names) / f"from-{part.size}" / file


def _describe(matrix: ScoreMatrix, plan: EvaluationPlan) -> dict[str, object]:
    """What two evaluations must share for one to go on where the other ended."""
    pool = matrix.keep_machines(plan.machines).keep_benchmarks(plan.benchmarks)
    digest = hashlib.sha256(pool.seconds.tobytes())
    digest.update(pool.noise.tobytes())
    for name in sorted(pool.facts):
        digest.update(name.encode() + pool.facts[name].tobytes())
    return {
        "format": 1,
        "version": datamill.__version__,
        "scores": digest.hexdigest(),
        "machines": list(plan.machines),
        "benchmarks": list(plan.benchmarks),
        "applications": list(plan.applications),
        "draws": plan.draws,
        "seed": plan.seed,
    }


def _compare(file: Path, head: dict[str, object]) -> None:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = None
    if not isinstance(kept, dict):
        raise InputError(
            "this is not an evaluation", where=str(file), remedy="Name another folder, or remove this one."
        )
    other = [name for name in head if kept.get(name) != head[name]]
    if other:
        raise InputError(
            f"the evaluation in this folder has other {', '.join(other)}",
            where=str(file),
            remedy="Ask for the same again to go on, or name a new folder.",
        )
