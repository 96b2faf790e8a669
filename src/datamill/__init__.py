"""datamill: from a question about performance to a defensible answer.

The verbs of `datamill analyze` are here for tables in memory (polars, pandas, Arrow) and for files:

    import datamill

    result = datamill.quantiles(table, response="latency_us", factors=["sched", "machine"])
    print(result)
    result.model.fits[-1].coefficients
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "InputError",
    "analyze_allocations",
    "anova",
    "answer",
    "choose_machines",
    "compare",
    "evaluate_platforms",
    "false_alarms",
    "fit_platforms",
    "hardware",
    "plan",
    "predict",
    "predict_platforms",
    "quantiles",
    "rank_machines",
    "read_tables",
    "reproduce",
    "summary",
    "tests",
    "variability",
    "variance",
]

#: Rooms of the verbs that are not modules of their own name.
_ROOMS = {
    "analyze_allocations": "allocations.analyze_allocations",
    "choose_machines": "platforms.choose",
    "evaluate_platforms": "platforms.evaluate",
    "fit_platforms": "platforms.fit",
    "hardware": "hardware.hardware",
    "predict": "prediction.predict",
    "predict_platforms": "platforms.predict",
    "read_tables": "fleet.read_tables",
    "reproduce": "reproduction.reproduce",
    "rank_machines": "platforms.rank",
}

if TYPE_CHECKING:
    from datamill.experiment.errors import InputError
    from datamill.verbs.allocations.analyze_allocations import analyze_allocations
    from datamill.verbs.anova import anova
    from datamill.verbs.answer import answer
    from datamill.verbs.compare import compare
    from datamill.verbs.false_alarms import false_alarms
    from datamill.verbs.fleet.read_tables import read_tables
    from datamill.verbs.hardware.hardware import hardware
    from datamill.verbs.plan import plan
    from datamill.verbs.platforms.choose import choose_machines
    from datamill.verbs.platforms.evaluate import evaluate_platforms
    from datamill.verbs.platforms.fit import fit_platforms
    from datamill.verbs.platforms.predict import predict_platforms
    from datamill.verbs.platforms.rank import rank_machines
    from datamill.verbs.prediction.predict import predict
    from datamill.verbs.quantiles import quantiles
    from datamill.verbs.reproduction.reproduce import reproduce
    from datamill.verbs.summary import summary
    from datamill.verbs.tests import tests
    from datamill.verbs.variability import variability
    from datamill.verbs.variance import variance


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    # Imported when used: most commands need no statistics, and start faster without.
    if name == "InputError":
        from datamill.experiment.errors import InputError

        return InputError
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f"datamill.verbs.{_ROOMS.get(name, name)}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
