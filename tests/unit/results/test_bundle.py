"""The bundle: one folder that holds everything, and lets only one process at it."""

import os
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from made.synthetic import (
    EXPERIMENT,
    fit_record,
    make_bundle_folder,
    make_failed_record,
    make_phase,
    make_record,
)

from datamill.experiment.errors import InputError
from datamill.results.bundles import opening
from datamill.results.bundles.opening import lock_bundle, open_bundle
from datamill.results.tables.table import TABLE_SCHEMA


def test_an_opened_bundle_equals_the_one_that_was_made(tmp_path: Path) -> None:
    made = make_bundle_folder(tmp_path / "bundle")
    opened = open_bundle(tmp_path / "bundle")
    assert opened.experiment == made.experiment
    assert opened.design == made.design
    assert opened.head == made.head
    assert (tmp_path / "bundle" / "experiment.toml").read_text() == EXPERIMENT


@pytest.mark.parametrize("name", ["experiment.toml", "design.json"])
def test_a_question_or_plan_that_was_changed_after_the_fact_is_refused(tmp_path: Path, name: str) -> None:
    make_bundle_folder(tmp_path / "bundle")
    path = tmp_path / "bundle" / name
    path.write_bytes(path.read_bytes().replace(b"-O2", b"-O3"))
    with pytest.raises(InputError, match="changed after the experiment had begun") as caught:
        open_bundle(tmp_path / "bundle")
    assert caught.value.where == str(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda text: text.replace('"format": 2', '"format": 3, "novelty": true'),
            "format 3, this datamill reads 1 and 2",
        ),
        (lambda text: text[: len(text) // 2], "damaged: input data was truncated"),
        (lambda text: text.replace('"format": 2', '"novelty": 1, "format": 2'), "unknown field `novelty`"),
    ],
)
def test_a_head_of_another_format_or_a_damaged_one_is_named(tmp_path: Path, change: Any, words: str) -> None:
    make_bundle_folder(tmp_path / "bundle")
    head = tmp_path / "bundle" / "bundle.json"
    head.write_text(change(head.read_text()))
    with pytest.raises(InputError, match=words) as caught:
        open_bundle(tmp_path / "bundle")
    assert caught.value.where == str(head)
    assert caught.value.remedy


def test_a_bundle_that_lost_a_file_names_it(tmp_path: Path) -> None:
    make_bundle_folder(tmp_path / "bundle")
    (tmp_path / "bundle" / "design.json").unlink()
    with pytest.raises(InputError, match="damaged: no such file") as caught:
        open_bundle(tmp_path / "bundle")
    assert caught.value.where == str(tmp_path / "bundle" / "design.json")


def test_an_old_table_is_not_taken_for_a_new_one_in_a_copy_of_the_folder(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    first, second = (fit_record(make_record(item.trial_id), bundle) for item in bundle.design.trials[:2])
    bundle.append_records([first])
    bundle.write_table(bundle.read_records())
    assert bundle.has_table
    # The command was killed after its next trial, and a copy of the folder gave the table the latest time.
    bundle.append_records([second])
    bundle.table_file.touch()
    assert not bundle.has_table
    assert bundle.read_table()["trial_id"].n_unique() == 2
    bundle.write_table(bundle.read_records())
    bundle.log_file.touch()
    assert bundle.has_table


def test_a_record_that_arrives_twice_is_read_once(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    record = fit_record(make_record("t01"), bundle)
    bundle.append_records([record])
    bundle.append_records([record])
    assert bundle.read_records() == [record]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"levels": {"optimization": "-O9"}}, "has other levels than planned: .*-O9 \\(planned: "),
        ({"package": "other"}, "is of package other, where .+ was planned"),
        ({"package_sha256": "f" * 64}, "is of package's SHA-256 ffff.*, where 0000"),
        ({"seed": 5}, "is of seed 5, where [0-9]+ was planned"),
        ({"experiment": "another"}, "is of experiment another, where .+ was planned"),
        ({"trial_id": "t99"}, "t99, attempt 1, was never planned"),
        ({"run": make_phase(wall_time_ns=-1)}, "says that wall_time_ns of run was -1"),
        ({"run": make_phase(wall_time_ns=10**30)}, "says that wall_time_ns of run was 1000000"),
    ],
)
def test_a_record_that_does_not_fit_its_planned_trial_is_refused_with_both_values(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    record = fit_record(make_record("t01"), bundle)
    bundle.append_records([msgspec.structs.replace(record, **change)])
    with pytest.raises(InputError, match=words) as caught:
        bundle.read_records()
    assert caught.value.where == str(bundle.log_file)


def test_a_bundle_of_the_older_format_is_read_with_a_warning(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    assert bundle.warnings == ()
    record = fit_record(make_record("t01"), bundle)
    bundle.log_file.write_bytes(msgspec.json.encode(record) + b"\n")
    with pytest.raises(InputError, match="lacks its checksum"):
        bundle.read_records()
    head = tmp_path / "bundle" / "bundle.json"
    head.write_text(head.read_text().replace('"format": 2', '"format": 1'))
    old = open_bundle(tmp_path / "bundle")
    assert old.read_records() == [record]
    assert "carry no checksums" in old.warnings[0]


def test_a_folder_with_something_in_it_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="not empty"):
        make_bundle_folder(tmp_path / "bundle")
    assert (tmp_path / "bundle" / "thesis.tex").read_text() == "years of work"


def test_a_folder_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a bundle"):
        open_bundle(tmp_path)


def test_a_second_process_is_refused_until_the_first_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It waits for one that is about to end.
    monkeypatch.setattr(opening, "_LOCK_WAIT_S", 0.2)
    bundle = make_bundle_folder(tmp_path / "bundle")
    with lock_bundle(bundle), pytest.raises(InputError, match="another datamill"), lock_bundle(bundle):
        pytest.fail("both hold the lock")
    with lock_bundle(bundle) as handle:
        assert handle > 2


def test_a_table_of_fewer_records_than_the_log_does_not_call_itself_the_whole(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "b")
    records = [make_record(trial.trial_id, package=trial.package) for trial in bundle.design.trials[:3]]
    bundle.append_records(records)
    # One more trial ended after the log was read.
    bundle.write_table(records[:2])
    os.utime(bundle.table_file, (1, 1))
    assert not bundle.has_table


def test_the_table_has_a_row_for_each_observation_and_all_columns(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    trial = bundle.design.trials[0]
    table = bundle.write_table([make_record(trial.trial_id, package=trial.package)])
    of_machine = {f"context.{name}" for name in ("arch", "cores", "memory", "kernel")}
    assert set(table.columns) == {*TABLE_SCHEMA, "optimization", "aslr", *of_machine}
    assert table["response"].to_list()[0] == "rate"
    first = table.row(0, named=True)
    assert first["value"] == 600.0
    assert first["unit"] == "B/s"
    assert first["valid"]
    assert first["order"] == trial.order
    assert first["aslr"] == trial.levels["aslr"]
    assert set(table["response"]) >= {"wall_time_s", "peak_memory_bytes", "page_faults", "input_bytes"}
    assert "cycles" not in set(table["response"])
    assert pl.read_parquet(bundle.folder / "table.parquet").equals(table)
    assert pl.read_csv(bundle.folder / "table.csv").height == table.height


def test_a_very_large_table_is_written_as_csv_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    records = [make_record(bundle.design.trials[0].trial_id)]
    bundle.write_table(records)
    monkeypatch.setattr("datamill.results.bundles.bundle.MOST_CSV_ROWS", 1)
    bundle.write_table(records)
    assert not (bundle.folder / "table.csv").exists()
    bundle.write_table(records, always_csv=True)
    assert (bundle.folder / "table.csv").exists()


def test_a_failed_trial_keeps_a_row_with_the_reason(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    table = bundle.write_table([make_failed_record(bundle.design.trials[0].trial_id)])
    assert table.height == 1
    row = table.row(0, named=True)
    assert row["value"] is None
    assert row["exclusion"] == "trial failed: run.sh exited with status 3"
    assert not row["valid"]


def test_each_measurement_of_a_metric_is_an_observation(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    metrics = {"input_bytes": (1000.0,), "output_bytes": (400.0, 500.0, 1000.0)}
    table = bundle.write_table([make_record(bundle.design.trials[0].trial_id, metrics=metrics)])
    rates = table.filter(pl.col("response") == "rate")
    assert rates["value"].to_list() == [600.0, 500.0, 0.0]
    assert rates["measurement"].to_list() == [0, 1, 2]


def test_a_division_by_zero_is_an_excluded_observation_and_never_a_number(tmp_path: Path) -> None:
    text = EXPERIMENT.replace("/ wall_time_s", "/ (input_bytes - 1000)")
    bundle = make_bundle_folder(tmp_path / "bundle", text)
    table = bundle.write_table([make_record(bundle.design.trials[0].trial_id)])
    row = table.row(0, named=True)
    assert row["value"] is None
    assert not row["valid"]
    assert "divides by zero" in row["exclusion"]


def test_a_late_attempt_is_kept_and_marked_and_never_counted(tmp_path: Path) -> None:
    bundle = make_bundle_folder(tmp_path / "bundle")
    trial_id = bundle.design.trials[0].trial_id
    table = bundle.write_table([make_record(trial_id, 2), make_record(trial_id, 1)])
    rates = table.filter(pl.col("response") == "rate").sort("attempt")
    assert rates["valid"].to_list() == [False, True]
    assert rates["exclusion"][0] == "attempt 2 counts for this trial"


def test_an_experiment_without_any_record_has_an_empty_table_with_all_columns(tmp_path: Path) -> None:
    table = make_bundle_folder(tmp_path / "bundle").write_table([])
    assert table.height == 0
    assert set(table.columns) == {*TABLE_SCHEMA, "optimization", "aslr"}


def test_a_bundle_whose_making_was_interrupted_leaves_its_place_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("datamill.results.bundles.bundle_files.write_file", interrupt)
        with pytest.raises(KeyboardInterrupt):
            make_bundle_folder(tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()
    make_bundle_folder(tmp_path / "bundle")
    assert open_bundle(tmp_path / "bundle").read_records() == []
