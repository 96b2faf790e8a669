"""The model of a response with an additive effect of the blocks that its trials were run in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from datamill.analysis.answer.term_influence import Influence
from datamill.analysis.contrasts.blocks import BlockFit, fit_blocks
from datamill.analysis.contrasts.contrast import has_replicates
from datamill.analysis.contrasts.shared_builds import gather_shared_builds
from datamill.analysis.linear.linear_model import LinearModel
from datamill.analysis.linear.model import fit_linear_model
from datamill.analysis.model_data.cells import Cells
from datamill.analysis.model_data.coding import Term, list_terms
from datamill.design.machines import MACHINE_FACTOR
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment

#: The column of the tidy table that names blocks.
BLOCK = "block"


@dataclass(frozen=True, slots=True, eq=False)
class BlockedModel:
    """A model with an additive effect of blocks, and the cells (with the block as last factor) behind it."""

    model: LinearModel
    cells: Cells
    fit: BlockFit


def wants_blocks(experiment: Experiment, valid: pl.DataFrame) -> bool:
    """Whether trials were run in blocks, and in more than one of a machine."""
    asked = (
        experiment.block != "none" or experiment.order == "interleaved" or experiment.fleet.reboot == "block"
    )
    # A machine with a single block is told apart as it is.
    machines = valid[MACHINE_FACTOR].n_unique() if MACHINE_FACTOR in valid.columns else 1
    return asked and BLOCK in valid.columns and valid[BLOCK].n_unique() > machines


def fit_within_blocks(
    names: Sequence[str],
    cells: Cells,
    by_block: Cells,
    model: LinearModel,
    warnings: list[str],
) -> BlockedModel | None:
    """The model with an additive effect of blocks; None with a warning where the data do not allow it."""
    try:
        if not has_replicates(cells):
            raise InputError("some design points have one observation only")
        if gather_shared_builds(cells) is not None:
            raise InputError("design points have builds in common")
        if cells.builds is not None:
            raise InputError("design points share builds, whose differences are the error of packages")
        codes = by_block.codes[by_block.of_row]
        if by_block.n != cells.n or np.any(codes[:, :-1] != cells.codes[cells.of_row]):
            raise InputError("what stands for one observation was measured in several blocks")
        block = by_block.factors[-1]
        machines = codes[:, names.index(MACHINE_FACTOR)] if MACHINE_FACTOR in names else None
        term = Term(BLOCK, (len(names),), len(block.levels) - 1)
        return BlockedModel(
            fit_linear_model(
                by_block,
                terms=(term, *list_terms(cells.factors, model.order)),
                blocks=(BLOCK,),
                confidence=model.confidence,
                alpha=model.alpha,
                leave_out_aliased=True,
            ),
            by_block,
            fit_blocks(cells, codes[:, -1], block.levels, groups=machines),
        )
    except InputError as problem:
        warnings.append(
            f"blocks are left out, so that differences between them are part of the error: {problem.message}"
        )
        return None


def share_within_blocks(influence: Influence, model: LinearModel) -> Influence:
    """The same terms, with their shares of the variation from the model with blocks."""
    sums = {row.term.name: row.sum_sq for row in model.terms}
    terms = [
        replace(
            item,
            share=sums[item.term.name] / model.total_ss,
            partial=sums[item.term.name] / (sums[item.term.name] + model.error_ss),
        )
        if sums.get(item.term.name, 0.0) > 0
        else item
        for item in influence.terms
    ]
    return replace(influence, terms=tuple(sorted(terms, key=lambda item: -item.share)))
