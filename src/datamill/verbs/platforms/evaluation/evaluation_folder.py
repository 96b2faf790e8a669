"""The folder of an evaluation: finished blocks, so that a second start goes on where the first one ended."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np

import datamill
from datamill.experiment.errors import InputError
from datamill.platforms.evaluation.evaluate_block import BlockErrors
from datamill.platforms.evaluation.evaluation_plan import Block, EvaluationPlan
from datamill.platforms.scores.score_matrix import ScoreMatrix
from datamill.results.bundles.replaced_file import replace_file

_HEAD = "evaluation.json"


class EvaluationFolder:
    """Finished blocks of one matrix, pool, seed and number of draws; strategies and sizes may be added."""

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

    def read_block(self, block: Block) -> BlockErrors | None:
        """The errors of a block; None where it is not finished, or its file is damaged."""
        file = self._locate(block)
        try:
            with np.load(file, allow_pickle=False) as kept:
                errors = BlockErrors(
                    block,
                    float(kept["mean_seconds"]),
                    kept["nrmse"],
                    kept["adjusted_r2"],
                    kept["predictors"],
                    kept["relative"],
                )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            # A block is soon evaluated again.
            return None
        models, targets = self._plan.count_sets(block.size), len(self._plan.machines) - block.size
        return errors if errors.relative.shape == (models, targets) else None

    def write_block(self, errors: BlockErrors) -> None:
        """Keep the errors of a finished block."""
        file = self._locate(errors.block)
        file.parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        np.savez(
            content,
            mean_seconds=errors.mean_seconds,
            nrmse=errors.nrmse,
            adjusted_r2=errors.adjusted_r2,
            predictors=errors.predictors.astype(np.int16),
            relative=errors.relative,
        )
        replace_file(file, [content.getbuffer()])

    def _locate(self, block: Block) -> Path:
        limit = f"-at-most-{block.variant.limit}" if block.variant.limit else ""
        number = self._plan.applications.index(block.application)
        folder = f"{block.variant.strategy}{limit}"
        return self._path / "blocks" / folder / f"from-{block.size}" / f"application-{number}.npz"


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
            "this is no evaluation", where=str(file), remedy="Name another folder, or remove this one."
        )
    other = [name for name in head if kept.get(name) != head[name]]
    if other:
        raise InputError(
            f"the evaluation in this folder has other {', '.join(other)}",
            where=str(file),
            remedy="Ask for the same again to go on, or name a new folder.",
        )
