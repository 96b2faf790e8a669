"""Answers about platforms, written by hand."""

from __future__ import annotations

import math

from datamill.platforms.choice.platform_choice import (
    ChosenMachine,
    MachineChoice,
    RedundantBenchmark,
    SmallerSuite,
)
from datamill.platforms.prediction.platform_prediction import (
    Carrier,
    HeldOutMachine,
    MachinePrediction,
    PlatformPrediction,
    Refusal,
)
from datamill.platforms.ranking.machine_ranking import MachineRanking, MisorderedPair, RankedMachine
from datamill.platforms.scores.score_matrix import ScoreKind
from datamill.report.platforms.values import MeasuredMachine, PlatformNotes

UNLIKE = Refusal("target", "the machine is unlike those that measured it: distance 9, theirs 2")
STRANGE = Refusal("application", "no mixture of the benchmarks is near it: 40% off on the machines measured")
NOTES = PlatformNotes(
    (MeasuredMachine("old", 120.0), MeasuredMachine("mid", 60.0)), 20, 6, ("2 values of 120 are missing",)
)


def make_prediction(
    *predictions: MachinePrediction, kind: ScoreKind = "seconds", check: tuple[HeldOutMachine, ...] = ()
) -> PlatformPrediction:
    return PlatformPrediction(
        application="web",
        kind=kind,
        confidence=0.9,
        predictions=predictions,
        trained=("old", "mid"),
        benchmarks=(Carrier("gcc", 0.25), Carrier("mcf", 0.75), Carrier("lbm", 0.0)),
        machines=(Carrier("old", 0.4), Carrier("mid", 0.6)),
        suite_error=0.04,
        strategy="a method",
        warnings=("the sky is falling.",),
        check=check,
    )


FAST = MachinePrediction("fast", 20.0, 18.0, 23.0, (), expected_error=0.06)
SLOW = MachinePrediction("slow", 45.0, 40.0, 51.0, (), expected_error=0.08)
FAR = MachinePrediction("far", 5.0, 1.0, 25.0, (UNLIKE,))
EMPTY = MachinePrediction("empty", math.nan, math.nan, math.nan, (UNLIKE,))
#: Each machine that measured it, predicted from the others.
CHECK = (HeldOutMachine(FAST, 22.0), HeldOutMachine(FAR, 4.0), HeldOutMachine(EMPTY, 4.0))
PREDICTION = make_prediction(SLOW, FAST, FAR, EMPTY, check=CHECK)
RANKING = MachineRanking(
    prediction=PREDICTION,
    machines=(
        RankedMachine(FAST, False, 0.98, 0.99, 400.0, 1.0),
        RankedMachine(SLOW, False, 0.02, 0.9, 300.0, 0.6),
        RankedMachine(
            MachinePrediction("mid", 60.0, 60.0, 60.0, ()), True, 0.0, math.nan, math.nan, math.nan
        ),
    ),
    refused=(FAR,),
    misordered=(MisorderedPair("slow", "mid", 1.33, 0.9, 0.9),),
    right_order=0.89,
    pair_order=0.96,
)
CHOICE = MachineChoice((ChosenMachine("old", 0.4), ChosenMachine("fast", 0.1)), 0.07, 0.12, ())
SUITE = SmallerSuite(
    kept=("gcc", "mcf"),
    left_out=(RedundantBenchmark("namd", 0.02, 0.09, "gcc"),),
    badly=(RedundantBenchmark("lbm", 0.3, 0.8, "mcf"),),
    warnings=(),
)
