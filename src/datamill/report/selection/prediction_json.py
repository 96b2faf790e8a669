"""What is predicted of a commit as a sentence and as JSON; without tables, which take longer to load."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from datamill.experiment.messages.phrases import count_nouns, finish_sentence
from datamill.report.tables.envelope import write_result
from datamill.selection.prediction.commit_prediction import BenchmarkPrediction, CommitPrediction


def summarize_prediction(found: CommitPrediction) -> list[str]:
    """Return sentences: how many benchmarks must run, and against which version that was judged."""
    distance = f"{count_nouns(found.hops, 'commit')} before" if found.hops else "another version"
    against = f"against {found.against[:9]}, {distance}"
    if not found.predictions:
        return [f"{found.commit[:9]}: the settings name no benchmark ({against})."]
    if not found.runs:
        return [f"{found.commit[:9]}: no benchmark must run ({against})."]
    return [
        f"{found.commit[:9]}: {len(found.runs)} of {count_nouns(len(found.predictions), 'benchmark')} "
        f"must run ({against})."
    ]


def spell_prediction(found: CommitPrediction) -> str:
    """Write a prediction as JSON: `commit`, `against`, `hops`, and of each benchmark what is said of it."""
    return write_result(
        summarize_prediction(found),
        {
            "commit": found.commit,
            "against": found.against,
            "hops": found.hops,
            "predictions": [_spell(item) for item in found.predictions],
        },
        [finish_sentence(line) for line in found.warnings],
    )


def _spell(item: BenchmarkPrediction) -> Mapping[str, object]:
    return {
        "benchmark": item.benchmark,
        "run": item.run,
        "probability": item.probability,
        "direction": item.direction,
        "magnitude": None if item.magnitude is None else msgspec.structs.asdict(item.magnitude),
        "reason": item.reason,
        "indicators": [
            {
                "name": fired.name,
                "value": fired.value,
                "threshold": fired.threshold,
                "functions": list(fired.functions),
            }
            for fired in item.indicators
        ],
    }
