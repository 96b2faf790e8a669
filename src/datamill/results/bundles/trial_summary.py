"""How the trials of an experiment went and where they ran, and what keeps it from being complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl

from datamill.experiment.messages.arguments import command
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.decisions import Decision
from datamill.results.judgement.failing_packages import list_stopped_packages
from datamill.results.judgement.replication_warnings import list_replication_warnings
from datamill.results.judgement.screened import ScreenedFirst, read_screened
from datamill.results.judgement.validity import list_warnings
from datamill.results.trials.responses import list_wanted_responses


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that ran trials."""

    worker: str
    arch: str
    cpu_model: str
    cores: int
    memory_bytes: int
    kernel: str


@dataclass(frozen=True, slots=True)
class TrialSummary:
    """How the trials went and where.

    Trials are `planned`, and of these `completed`, `failed`, `timed_out` or `lost`; the rest has
    not run yet. `excluded` counts completed trials whose observations are not used. `warnings`
    are whole sentences from the judgement of validity. With `builds_shared` the replicates of a
    design point measured the same build; with `builds_repeated` there are several builds of it, each with
    executions of its own. A sequential experiment has its `decisions`, and planned trials
    that a decision to stop made needless: `not_needed`, not counted in `planned`. `left_out` trials did not
    run since the first ones of their packages, `stopped`, failed alike. `screened` is what a screening found
    that came first, None where none did.
    """

    planned: int
    completed: int
    failed: int
    timed_out: int
    lost: int
    excluded: int
    machines: tuple[Machine, ...]
    isolation_kind: str
    isolation_reason: str
    builds_shared: bool
    warnings: tuple[str, ...] = ()
    not_needed: int = 0
    decisions: tuple[Decision, ...] = ()
    builds_repeated: bool = False
    stopped: tuple[str, ...] = ()
    left_out: int = 0
    screened: ScreenedFirst | None = None

    @property
    def ended(self) -> int:
        """Trials that have ended, one way or another."""
        return self.completed + self.failed + self.timed_out + self.lost

    @property
    def not_run(self) -> int:
        """Planned trials that have not ended yet."""
        return max(0, self.planned - self.ended)


def summarize_trials(bundle: Bundle, records: Sequence[TrialRecord], table: pl.DataFrame) -> TrialSummary:
    """Count how the trials went, each by the attempt that counts, and say where they ran."""
    counted = bundle.count_attempts(records).counted
    standing = bundle.list_standing(records)
    outcomes = Counter(record.outcome for record in standing)
    machines = {
        record.worker.id: Machine(
            record.worker.id,
            record.host.arch,
            record.host.cpu_model,
            record.host.cores,
            record.host.memory_bytes,
            record.host.kernel,
        )
        for record in standing
    }
    isolation = Counter((record.isolation.kind, record.isolation.reason) for record in standing)
    kind, reason = isolation.most_common(1)[0][0] if isolation else ("none", "no trial has run")
    builds = Counter(
        record.build.id
        for record in standing
        if record.build is not None and record.build.policy == "shared" and record.build.setup is not None
    )
    needed = bundle.list_needed_trials()
    used_names = {name for item in list_wanted_responses(bundle.experiment) for name in item.formula.names}
    stopped = _find_stopped(bundle, records, counted)
    return TrialSummary(
        planned=len(needed),
        completed=outcomes["completed"],
        failed=outcomes["failed"],
        timed_out=outcomes["timed_out"],
        lost=outcomes["lost"],
        excluded=_count_excluded(bundle, table),
        machines=tuple(machines.values()),
        isolation_kind=kind,
        isolation_reason=reason,
        builds_shared=max(builds.values(), default=0) > 1,
        warnings=(
            *bundle.warnings,
            *(warning for warning, _ in stopped.values()),
            *list_replication_warnings(bundle.experiment, bundle.design, standing),
            *list_warnings(standing, used_names=used_names),
        ),
        builds_repeated=bundle.design.nested and any(trial.build > 1 for trial in bundle.design.trials),
        not_needed=len(bundle.design.trials) - len(needed),
        decisions=bundle.read_decisions(),
        stopped=tuple(stopped),
        left_out=sum(left for _, left in stopped.values()),
        screened=read_screened(bundle.folder),
    )


def _find_stopped(
    bundle: Bundle, records: Sequence[TrialRecord], ended: Collection[str]
) -> dict[str, tuple[str, int]]:
    """Return a warning of each stopped package that has trials without a record, and how many these are."""
    left = Counter(trial.package for trial in bundle.list_needed_trials() if trial.trial_id not in ended)
    if not left:
        return {}
    found = {}
    for name, package in list_stopped_packages(bundle.design.trials, records).items():
        if left[name]:
            warning = (
                f"the first {package.failures} trials of package {name} failed alike "
                f"({package.message.rstrip('.')}), and {left[name]} of its trials did not run"
            )
            found[name] = warning, left[name]
    return found


def _count_excluded(bundle: Bundle, table: pl.DataFrame) -> int:
    """Count completed trials of which an observation of the experiment's responses is not used."""
    names = [response.name for response in bundle.experiment.responses]
    asked = pl.col("response").is_in(names) & (pl.col("purpose") == "question")
    rows = table.filter(asked & (pl.col("outcome") == "completed"))
    used = rows.filter("valid")["trial_id"].unique()
    return rows.filter(~pl.col("valid") & ~pl.col("trial_id").is_in(used.implode()))["trial_id"].n_unique()


def list_problems(summary: TrialSummary, table: pl.DataFrame, bundle: Bundle) -> list[str]:
    """Return what keeps an experiment from being complete, one sentence each, with the first reason."""
    problems = []
    bad = summary.failed + summary.timed_out + summary.lost
    reasons = table.filter((pl.col("outcome") != "completed") & pl.col("exclusion").is_not_null())[
        "exclusion"
    ]
    if bad:
        first = f" ({reasons[0].rstrip('.')})" if reasons.len() else ""
        problems.append(
            f"{bad} of {summary.planned} trials failed{first}; what they printed is in {bundle.artifacts}"
            + (
                "."
                if bundle.of_fleet
                else f"; attempt them again with {command('run', resume=bundle.folder, retry_failed=True)}."
            )
        )
    if summary.excluded:
        names = [response.name for response in bundle.experiment.responses]
        used = table.filter(pl.col("valid") & pl.col("response").is_in(names))["trial_id"].unique()
        excluded = table.filter(
            (pl.col("outcome") == "completed")
            & pl.col("exclusion").is_not_null()
            & pl.col("response").is_in(names)
            & (pl.col("purpose") == "question")
            & ~pl.col("trial_id").is_in(used.implode())
        )["exclusion"]
        most = excluded.value_counts(sort=True)["exclusion"][0]
        problems.append(f"{summary.excluded} trials completed but cannot be used: {most}.")
    if summary.left_out:
        what = ("package " if len(summary.stopped) == 1 else "packages ") + ", ".join(summary.stopped)
        problems.append(
            f"{summary.left_out} of {summary.planned} trials were left out, since {what} failed from the "
            "first on; mend that and "
            + (
                "submit the experiment again."
                if bundle.of_fleet
                else f"begin anew, or go on as it was with {command('run', resume=bundle.folder)}."
            )
        )
    if summary.ended + summary.left_out < summary.planned:
        problems.append(
            f"{summary.planned - summary.ended - summary.left_out} of {summary.planned} trials have "
            + (
                "no record on the fleet: they have not run yet, or were given up or cancelled."
                if bundle.of_fleet
                else f"not run; continue with {command('run', resume=bundle.folder)}."
            )
        )
    return problems
