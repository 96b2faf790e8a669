"""Predictions as JSON, with every digit of a double."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from datamill.analysis.prediction.prediction import Prediction, Predictions
from datamill.report.tables.interval_json import spell_interval


def spell_predictions(found: Predictions) -> dict[str, Any]:
    """Write predictions as values of JSON.

    Keys: `response`, `unit`, `transform` (of the response, "" or "log"), `n`, `units`, `excluded`,
    `put_aside` (rows by what they are), `confidence`,
    `predictions` (levels; `value`: estimate, low, high; `prediction`: low, high; `outside`: factors whose
    level lies beyond those measured), `slopes` (factor, scale, unit, low, high, levels, why, error_ratio),
    `lack_of_fit` (sum_sq, df, f, p) or null, `largest_miss_percent`, `r_squared`, `error` (mean_sq, df),
    `blocks`, `method`.
    """
    model, seen = found.model, found.observations
    test = found.misfit.test
    return {
        "response": seen.response,
        "unit": seen.unit,
        "transform": seen.transform,
        "n": model.n,
        "units": seen.units,
        "excluded": seen.excluded,
        "put_aside": dict(seen.put_aside),
        "confidence": found.confidence,
        "predictions": [_spell_prediction(item) for item in found.predictions],
        "slopes": [asdict(slope) for slope in found.slopes],
        "lack_of_fit": None if test is None else asdict(test),
        "largest_miss_percent": found.misfit.percent,
        "r_squared": model.r_squared,
        "error": {"mean_sq": model.error_ms, "df": model.error_df},
        "blocks": list(found.blocks),
        "method": model.method,
    }


def _spell_prediction(item: Prediction) -> dict[str, Any]:
    return {
        "levels": dict(item.levels),
        "value": spell_interval(item.value),
        "prediction": {"low": item.new.low, "high": item.new.high},
        "outside": list(item.outside),
    }
