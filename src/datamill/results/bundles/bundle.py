"""The bundle: a self-contained folder that holds an experiment and everything it produced."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from datamill.design.design import Design, PlannedTrial
from datamill.design.garbage_pause import pause_garbage_collection
from datamill.experiment.errors import InputError
from datamill.experiment.experiment import Experiment
from datamill.experiment.messages.arguments import argument, command
from datamill.late import pl
from datamill.protocol.trial import TrialRecord
from datamill.results.bundles.bundle_head import SEALED_FORMAT, BundleHead
from datamill.results.bundles.decisions import (
    DECISIONS_FILE,
    Decision,
    append_decision,
    list_needed_trials,
    read_decisions,
)
from datamill.results.judgement.judged_attempts import JudgedAttempts, count_attempts
from datamill.results.judgement.validity import CountedTrials
from datamill.results.trials.log import append_records, measure_log, read_log
from datamill.results.trials.record_checks import find_impossible, find_misfit

#: Key in the table's file by which it says how many bytes the log had when the table was made of it.
_LOG_BYTES = "datamill.log_bytes"
#: Rows up to which the table is written as CSV too: a larger one is hundreds of megabytes that few can open.
MOST_CSV_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Bundle:
    """An opened bundle: its folder, its question, and its plan.

    Where a fleet ran it, the `design` has each trial on the machine that made it; `design.json` keeps the
    plan as it was fixed before data. `judged` says who made which attempt, and which count;
    `hardware` has the levels of its machines by dimension.
    """

    folder: Path
    head: BundleHead
    experiment: Experiment
    design: Design
    judged: JudgedAttempts | None = None
    hardware: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def of_fleet(self) -> bool:
        """Whether a fleet ran the experiment: then this is a copy of what the coordinator has."""
        return (self.folder / "fleet.json").is_file()

    @property
    def log_file(self) -> Path:
        """Append-only log of trial records."""
        return self.folder / "log.jsonl"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What an older format lacks, in words."""
        if self.head.format >= SEALED_FORMAT:
            return ()
        return (
            "an older datamill made this bundle: the lines of its log carry no checksums, so that a change "
            "to them would not be noticed",
        )

    @property
    def decisions_file(self) -> Path:
        """Append-only list of what a sequential experiment decided after each batch."""
        return self.folder / DECISIONS_FILE

    @property
    def table_file(self) -> Path:
        """The tidy table, made from the log when the command that runs the experiment ends."""
        return self.folder / "table.parquet"

    @property
    def has_table(self) -> bool:
        """Whether the table holds all of the log: a command that was killed leaves none, or an old one.

        The table says how long the log was. Where it does not, the younger file counts, which a copy of the
        folder need not be by right.
        """
        if not self.table_file.is_file():
            return False
        with suppress(pl.exceptions.PolarsError):
            told = pl.read_parquet_metadata(self.table_file).get(_LOG_BYTES)
            if told is not None:
                return told == str(self.log_file.stat().st_size if self.log_file.is_file() else 0)
        return not self.log_file.is_file() or (
            self.table_file.stat().st_mtime_ns >= self.log_file.stat().st_mtime_ns
        )

    @property
    def artifacts(self) -> Path:
        """Collected archives and the phases' output, one folder an attempt."""
        return self.folder / "artifacts"

    @property
    def work(self) -> Path:
        """Scratch space and caches of the worker; worthless once the experiment has ended."""
        return self.folder / ".work"

    @property
    def report_file(self) -> Path:
        """The report page."""
        return self.folder / "report.html"

    def read_records(self) -> list[TrialRecord]:
        """Return all trial records in the order in which they arrived, each attempt once.

        Raises:
            InputError: when the log is damaged, or holds a record that does not fit its planned trial.
        """
        planned = {trial.trial_id: trial for trial in self.design.trials}
        packages = {item.name: item.sha256 for item in self.head.packages}
        seen: set[tuple[str, int]] = set()
        records = []
        for record in read_log(self.log_file, sealed=self.head.format >= SEALED_FORMAT):
            key = (record.trial_id, record.attempt)
            if key in seen:
                continue
            seen.add(key)
            records.append(record)
            trial = planned.get(record.trial_id)
            if trial is None:
                raise self._refuse_record(record, "was never planned")
            misfit = find_misfit(
                record,
                trial,
                experiment=self.experiment.name,
                package_sha256=packages.get(trial.package),
            )
            if not misfit and record.outcome == "completed":
                misfit = find_impossible(record)
            if misfit:
                raise self._refuse_record(record, misfit)
        if self.judged is not None:
            self.judged.check_records(records)
        return records

    def count_attempts(self, records: Sequence[TrialRecord]) -> CountedTrials:
        """Choose for each trial the attempt that counts: as the coordinator judged, else by the records."""
        return count_attempts(self.judged, records)

    def list_standing(self, records: Sequence[TrialRecord]) -> list[TrialRecord]:
        """Return the records that stand for their trials, in the order in which they arrived."""
        counted = self.count_attempts(records).counted
        return [record for record in records if counted[record.trial_id] == record.attempt]

    def _refuse_record(self, record: TrialRecord, reason: str) -> InputError:
        return InputError(
            f"the record of trial {record.trial_id}, attempt {record.attempt}, {reason}",
            where=str(self.log_file),
            remedy="Restore the log from a copy. Without one, keep a copy as it is and replace the record's "
            f"line by an empty one: {argument('resume', verb='run')} attempts its trial again.",
        )

    def append_records(self, records: Sequence[TrialRecord]) -> None:
        """Add trial records and return when they are on disk.

        Raises:
            OSError: when the disk is full or fails; nothing that was there before is lost.
        """
        append_records(self.log_file, records)

    def read_decisions(self) -> tuple[Decision, ...]:
        """Return what was decided after each batch; nothing unless the experiment is sequential.

        Raises:
            InputError: when the list is damaged.
        """
        return read_decisions(self.decisions_file)

    def append_decision(self, decision: Decision) -> None:
        """Add a decision and return when it is on disk.

        Raises:
            OSError: when the disk is full or fails.
        """
        append_decision(self.decisions_file, decision)

    def list_needed_trials(self) -> tuple[PlannedTrial, ...]:
        """Return the planned trials in run order, less those that a decision to stop made needless.

        Raises:
            InputError: when the list of decisions is damaged.
        """
        return list_needed_trials(self.experiment, self.design, self.read_decisions())

    def read_table(self) -> pl.DataFrame:
        """Return the tidy table from its file, or where that is not up to date from the log.

        Raises:
            InputError: no trial has ended yet, the log is damaged, or the file is no table.
        """
        if self.has_table:
            # Imported late, as in build_table.
            from datamill.results.tables.table_files import read_table_file

            return read_table_file(self.table_file)
        records = self.read_records()
        if not records:
            raise InputError(
                "no trial of this experiment has ended yet",
                where=str(self.folder),
                remedy=f"Continue it with {command('run', resume=self.folder)}.",
            )
        return self.build_table(records)

    def build_table(self, records: Sequence[TrialRecord]) -> pl.DataFrame:
        """Return the tidy table of these records; nothing is written.

        Raises:
            InputError: when a record is of a trial that the design does not plan.
        """
        # Imported late: tables take a fifth of a second to load, which a trial need not wait for.
        from datamill.results.tables.table import build_table

        with pause_garbage_collection():
            return build_table(self.experiment, self.design, records, self.judged, self.hardware)

    def write_table(self, records: Sequence[TrialRecord], *, always_csv: bool = False) -> pl.DataFrame:
        """Write the tidy table of these records as `table.parquet` and `table.csv`, and return it.

        Beyond `MOST_CSV_ROWS` rows there is no `table.csv`, unless `always_csv`.

        Raises:
            InputError: when a record is of a trial that the design does not plan.
            OSError: when the disk is full or the folder cannot be written; the old tables stay.
        """
        from datamill.results.tables.csv_files.formula_cells import mark_cells

        table = self.build_table(records)
        # A log that holds other records, more by now perhaps, is not what the table was made of.
        lines, log_bytes = measure_log(self.log_file)
        metadata = {_LOG_BYTES: str(log_bytes)} if lines == len(records) else None
        _replace_table(self.table_file, lambda handle: table.write_parquet(handle, metadata=metadata))
        csv = self.folder / "table.csv"
        if always_csv or table.height <= MOST_CSV_ROWS:
            _replace_table(csv, mark_cells(table).write_csv)
        else:
            csv.unlink(missing_ok=True)
        return table


def _replace_table(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Let `write` make a file that can be made again from the log; the old one stays until it is whole."""
    partial = path.with_name(f".{path.name}")
    try:
        with partial.open("wb") as handle:
            try:
                write(handle)
            except pl.exceptions.PolarsError as error:
                # Polars hides the cause of a failed write; a sound table fails for want of room.
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
