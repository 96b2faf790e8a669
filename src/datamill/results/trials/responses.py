"""From a trial record to the values of responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from datamill.experiment.errors import QuestionError
from datamill.experiment.formula import Formula, evaluate_formula, parse_formula
from datamill.experiment.messages.suggestions import suggest_name
from datamill.experiment.responses import BUILT_IN_UNITS, Response
from datamill.protocol.trial import PhaseFacts, TrialRecord

if TYPE_CHECKING:
    from datamill.experiment.experiment import Experiment


@dataclass(frozen=True, slots=True)
class WantedResponse:
    """A response of the experiment with its formula, ready to be evaluated."""

    response: Response
    formula: Formula


def list_wanted_responses(experiment: Experiment) -> tuple[WantedResponse, ...]:
    """Return the experiment's responses with their parsed formulas."""
    return tuple(
        WantedResponse(
            response, parse_formula(response.formula, where=f"[responses.{response.name}] formula")
        )
        for response in experiment.responses
    )


def list_built_in_values(phase: PhaseFacts) -> dict[str, float]:
    """Return the built-in responses of `run.sh` in their units; counters without a value are left out."""
    values: dict[str, float] = {
        "wall_time_s": phase.wall_time_ns / 1e9,
        "user_time_s": phase.user_time_ns / 1e9,
        "system_time_s": phase.system_time_ns / 1e9,
        "minor_faults": phase.minor_faults,
        "major_faults": phase.major_faults,
        "voluntary_switches": phase.voluntary_switches,
        "involuntary_switches": phase.involuntary_switches,
        "peak_memory_bytes": phase.peak_memory_bytes,
    }
    for counter in phase.counters:
        if counter.value is not None:
            values[counter.name] = counter.value
    return values


def check_response_names(record: TrialRecord, wanted: tuple[WantedResponse, ...], *, where: str) -> None:
    """Refuse formulas that need a name which a completed trial of a package does not provide.

    Raises:
        QuestionError: with the name, the package and the nearest name that exists.
    """
    if record.run is None or record.outcome != "completed":
        return
    values = list_built_in_values(record.run)
    for name in record.metrics:
        if name in BUILT_IN_UNITS:
            raise QuestionError(
                f'package "{record.package}" reports a metric "{name}", which is built in',
                where=where,
                remedy="Give the metric another name.",
            )
    for item in wanted:
        if item.response.name in record.metrics and item.response.formula != item.response.name:
            raise QuestionError(
                f'response "{item.response.name}" has the name of a metric of package "{record.package}"',
                where=where,
                remedy="Give the response another name.",
            )
        for name in item.formula.names:
            if name in values or name in record.metrics:
                continue
            counter = next((counter for counter in record.run.counters if counter.name == name), None)
            if counter is not None:
                raise QuestionError(
                    f'response "{item.response.name}" needs "{name}", which this machine cannot count: '
                    f"{counter.reason}",
                    where=where,
                    remedy="Run the experiment on a machine that has the counter, or remove the response.",
                )
            raise QuestionError(
                f'response "{item.response.name}" needs "{name}", which is not built in and which package '
                f'"{record.package}" does not report in its metrics',
                where=where,
                remedy=suggest_name(name, [*values, *record.metrics])
                + " A package reports a metric in metrics.json in the archive that collect.sh makes.",
            )


def evaluate_response(
    item: WantedResponse, built_in: Mapping[str, float], metrics: Mapping[str, tuple[float, ...]]
) -> list[float | str]:
    """Return one value for each measurement, or the reason why there is none.

    A metric with one value stands for all measurements; metrics with several must agree in their number.
    """
    lengths = {len(metrics[name]) for name in item.formula.names if name in metrics} - {1}
    if len(lengths) > 1:
        return [f"its metrics have unequal numbers of measurements ({', '.join(map(str, sorted(lengths)))})"]
    results: list[float | str] = []
    for index in range(lengths.pop() if lengths else 1):
        values = dict(built_in)
        for name in item.formula.names:
            if name in metrics:
                series = metrics[name]
                values[name] = series[index if len(series) > 1 else 0] if series else float("nan")
        try:
            results.append(evaluate_formula(item.formula, values))
        except KeyError as error:
            results.append(f"the trial does not provide {error.args[0]}")
        except ArithmeticError as error:
            results.append(str(error))
    return results
