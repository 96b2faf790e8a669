"""A predictor that was trained, with all that predicting needs, as it is kept in a file."""

from __future__ import annotations

import msgspec

from datamill.experiment.errors import InputError
from datamill.selection.history.settings import TruthSetting
from datamill.selection.prediction.direction import LearnedDirection
from datamill.selection.prediction.magnitude import Magnitude
from datamill.selection.predictors.models.constant import Constant
from datamill.selection.predictors.models.forest import Forest
from datamill.selection.predictors.models.guarded import Guarded
from datamill.selection.predictors.models.kernel_machine import KernelMachine
from datamill.selection.predictors.models.linear import Logistic
from datamill.selection.predictors.models.stumps import Boosted
from datamill.selection.predictors.models.thresholds import Perphecy

#: Of 1, directions and sizes were learnt from cases, not from versions.
SCHEMA = 2
KeptModel = Guarded | Perphecy | Constant | Logistic | Boosted | Forest | KernelMachine


class _KeptSchema(msgspec.Struct, frozen=True):
    schema: int


class TrainedModel(msgspec.Struct, frozen=True):
    """A model with what it was learnt from.

    `perphecy` are the thresholds of indicators on the same cases: they say which indicators fired. `cases`
    and `changes` count what was learnt, `truth` is what counted as a change. `magnitude` is how large
    a change is, if there is one; None where no interval holds.
    """

    predictor: str
    model: KeptModel
    perphecy: Perphecy
    direction: LearnedDirection
    truth: TruthSetting
    cases: int
    changes: int
    warnings: tuple[str, ...] = ()
    schema: int = SCHEMA
    magnitude: Magnitude | None = None


def decode_model(json: bytes, where: str) -> TrainedModel:
    """Return the model that a file holds.

    Raises:
        InputError: it is none, or one of another version.
    """
    try:
        # First, since what another version holds need not be what this one reads.
        schema = msgspec.json.decode(json, type=_KeptSchema).schema
        if schema == SCHEMA:
            return msgspec.json.decode(json, type=TrainedModel)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"is not a predictor: {error}", where=where, remedy="Train anew: datamill selection train."
        ) from error
    raise InputError(f"is of version {schema}", where=where, remedy="Train anew: datamill selection train.")
