"""Running a sequential experiment: batch after batch, until the analysis says that it is enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import polars as pl

from datamill.analysis.sequential.look import decide_look
from datamill.analysis.sequential.rounds import gather_rounds
from datamill.design.batches import list_batches
from datamill.execution.here import PendingTrial
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle import Bundle
from datamill.results.bundles.decisions import Decision
from datamill.results.tables.table import build_table


class Monitor:
    """Hands out the trials of a sequential experiment batch by batch, and looks at it after each.

    `records` are those of the log; whoever runs trials tells of each further one by `add_record`. A look
    sees nothing but the records of its batch and those before, whenever it happens: a decision that a
    killed command did not write is the same afterwards.
    """

    def __init__(self, bundle: Bundle, records: Sequence[TrialRecord]) -> None:
        self._bundle = bundle
        self._batches = list_batches(bundle.experiment, bundle.design)
        self._batch_of = {
            trial.trial_id: number for number, batch in enumerate(self._batches, start=1) for trial in batch
        }
        self._unseen = list(records)
        self._rows: pl.DataFrame | None = None
        self._elapsed_ns = 0
        self._builds: set[str] = set()

    def add_record(self, record: TrialRecord) -> None:
        """Take note of a trial that has ended and is on disk."""
        self._unseen.append(record)

    def feed_trials(
        self,
        pending: Sequence[PendingTrial],
        prepare: Callable[[list[PendingTrial]], None],
        tell: Callable[[Decision], None],
    ) -> Iterator[PendingTrial]:
        """Yield pending trials until the experiment stops.

        The next trial must be asked for after the one before is on disk. `prepare` is called with the pending
        trials of each batch before they start, `tell` with each decision when it is on disk.
        """
        waiting = {item.trial.trial_id: item for item in pending}
        decisions = self._bundle.read_decisions()
        stopped = bool(decisions) and decisions[-1].decision == "stop"
        batches = self._batches[: len(decisions)] if stopped else self._batches
        for number, batch in enumerate(batches, start=1):
            items = [waiting[trial.trial_id] for trial in batch if trial.trial_id in waiting]
            if items:
                prepare(items)
                yield from items
            if number <= len(decisions):
                continue
            decision = self._look(number)
            self._bundle.append_decision(decision)
            tell(decision)
            if decision.decision == "stop":
                return

    def _look(self, number: int) -> Decision:
        experiment, design = self._bundle.experiment, self._bundle.design
        seen = [record for record in self._unseen if self._batch_of[record.trial_id] <= number]
        self._unseen = [record for record in self._unseen if self._batch_of[record.trial_id] > number]
        if seen:
            names = {record.trial_id for record in seen}
            planned = [
                trial for batch in self._batches[:number] for trial in batch if trial.trial_id in names
            ]
            table = build_table(experiment, replace(design, trials=tuple(planned)), seen)
            rows = table.filter((pl.col("response") == experiment.responses[0].name) & pl.col("valid"))
            self._rows = rows if self._rows is None else pl.concat([self._rows, rows])
        for record in seen:
            self._elapsed_ns += record.ended_unix_ns - record.started_unix_ns
            build = record.build
            if (
                build is not None
                and build.policy == "shared"
                and build.setup
                and build.id not in self._builds
            ):
                self._builds.add(build.id)
                self._elapsed_ns += build.setup.wall_time_ns
        assert self._rows is not None, "a batch has trials, and each has a record"
        # The first batch has every design point; going through all that is planned takes long.
        rounds = gather_rounds(experiment, replace(design, trials=self._batches[0]), self._rows)
        return decide_look(
            experiment,
            rounds,
            look=number,
            trials=sum(len(batch) for batch in self._batches[:number]),
            elapsed_s=self._elapsed_ns / 1e9,
            next_trials=len(self._batches[number]) if number < len(self._batches) else 0,
        )
