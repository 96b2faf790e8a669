"""Features that the texts lack: data and flags, as 6.6 calls for, and how much of the work is affected."""

from __future__ import annotations

from datamill.selection.changes.reach import find_users
from datamill.selection.indicators.evidence import Evidence, measure_length_change

#: Features, by the names that cases have them under, that are shares of the whole: at most 1, often far less.
SHARES = frozenset(
    f"own.{name}"
    for name in (
        "changed_share_static",
        "changed_share_executed",
        "edit_weight",
        "signed_edit",
        "callers_hot",
    )
)


def read_own_features(evidence: Evidence) -> dict[str, float]:
    """Return features of a pair of versions and a benchmark by name.

    - `changed_share_static`: share of static instructions of the old version that lie in changed functions
    - `changed_share_executed`: share of executed instructions that changed functions executed, and those that
      use changed data: their work is another one, as if a constant in their code had changed
    - `edit_weight`: the same, each function weighted by how far its length changed, at most 100%, and by that
      where it uses changed data, since nothing tells how far these change its work
    - `signed_edit`: the same with the sign of the change of length, which tells the direction
    - `reached_changed`: changed functions that the benchmark reached
    - `loops_changed`: how many loops came or went in changed functions that it reached
    - `callees_changed`: changed functions that it reached and that now call others
    - `callers_hot`: highest share of executed instructions of a function that calls a changed one
    - `data_changed`: named data that differ, `data_reached`: those that a function refers to which it reached
    - `lines_only`, `renamed`: functions that differ in line numbers or names alone
    - `build_changed`: 1 where compilers, options or libraries differ
    - `is_seen`: 1 where functions, data or options differ, 0 where only names, line numbers or exports do
    - `is_identical`: 1 where all code and data are equal
    """
    changes, profile = evidence.changes, evidence.profile
    executed = {name: item.instructions or 0 for name, item in profile.functions.items()}
    total = sum(executed.values())
    static = sum(function.instructions for function in changes.old.functions)
    reached = [(old, new) for old, new in evidence.changed if old.name in profile.functions]
    data = {change.name for change in changes.data if change.fate != "new"}
    callers = find_users(changes.old, {*data, *(old.name for old, _ in evidence.changed)})
    calling = {caller for old, _ in evidence.changed for caller in callers.get(old.name, ())}
    using = {name: callers.get(name, frozenset()) & profile.reached for name in data}
    gone = {function.name for function in evidence.deleted}
    fed = sorted(frozenset().union(*using.values()) - {old.name for old, _ in reached} - gone)
    if changes.is_hidden:
        # Data without names, which anything may use.
        fed = sorted(executed)
    return {
        "changed_share_static": _divide(sum(old.instructions for old, _ in evidence.changed), static),
        "changed_share_executed": _divide(
            sum(executed[old.name] for old, _ in reached) + sum(executed[name] for name in fed), total
        ),
        "edit_weight": _divide(
            sum(
                executed[old.name] * min(measure_length_change(old, new), 100.0) / 100 for old, new in reached
            )
            + sum(executed[name] for name in fed),
            total,
        ),
        "signed_edit": _divide(
            sum(
                executed[old.name]
                * (new.instructions - old.instructions)
                / max(old.instructions, new.instructions, 1)
                for old, new in reached
            ),
            total,
        ),
        "reached_changed": float(len(reached)),
        "loops_changed": float(sum(abs(new.loops - old.loops) for old, new in reached)),
        "callees_changed": float(sum(set(old.calls) != set(new.calls) for old, new in reached)),
        "callers_hot": max((_divide(executed.get(name, 0), total) for name in calling), default=0.0),
        "data_changed": float(len(changes.data)),
        "data_reached": float(sum(bool(who) for who in using.values()) + changes.is_hidden),
        "lines_only": float(len(changes.of_fate("lines"))),
        "renamed": float(len(changes.of_fate("renamed"))),
        "build_changed": float(bool(changes.build)),
        "is_seen": float(changes.is_seen),
        "is_identical": float(changes.is_identical),
    }


def _divide(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
