"""The features of the thesis of 2019 (Table 1.3, and 1.9.6 for cache misses)."""

from __future__ import annotations

from datamill.selection.indicators.evidence import HOTTEST, Evidence

#: Counts of the table by their names there.
_COUNTS = {"cycles": "cycles", "call": "calls", "instr": "instructions", "cache-misses": "cache-misses"}


def read_published_features(evidence: Evidence) -> dict[str, float]:
    """Return thirteen features, or as many as the profile has counts for, and three more with cache misses.

    The relevance is the sum of the ranks of changed functions (see `Profile.rank`). The difference of
    instructions is summed without its sign over changed functions; functions that are new or deleted have
    features of their own.
    """
    features = {
        "new_functions": float(len(evidence.new)),
        "deleted_functions": float(len(evidence.deleted)),
        "instruction_difference": float(
            sum(abs(new.instructions - old.instructions) for old, new in evidence.changed)
        ),
        "changed_functions": float(len(evidence.changed)),
    }
    changed = {old.name for old, _ in evidence.changed}
    deleted = {function.name for function in evidence.deleted}
    for name, count in _COUNTS.items():
        ranking = evidence.ranking(count)
        if ranking is None:
            continue
        hottest = ranking.hottest(HOTTEST)
        features[f"relevance_by_{name}"] = sum(ranking.of(function) for function in sorted(changed))
        features[f"changed_count_by_{name}"] = float(sum(function in changed for function in hottest))
        features[f"deleted_count_by_{name}"] = float(sum(function in deleted for function in hottest))
    return features
