"""The append-only log: whatever happens, whole records stay and torn ones do not count."""

import os
from pathlib import Path

import msgspec
import pytest
from synthetic import make_record

from datamill.experiment.errors import InputError
from datamill.results.log import append_records, read_log


def test_records_come_back_in_the_order_in_which_they_arrived(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    records = [make_record(f"t{number}") for number in (3, 1, 2)]
    append_records(log, records[:2])
    append_records(log, records[2:])
    assert read_log(log) == records


def test_a_missing_log_is_empty(tmp_path: Path) -> None:
    assert read_log(tmp_path / "log.jsonl") == []


def test_a_log_cut_off_at_any_byte_keeps_all_whole_records(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    records = [make_record("t1"), make_record("t2"), make_record("t3")]
    append_records(log, records)
    content = log.read_bytes()
    for length in range(0, len(content) + 1, 37):
        log.write_bytes(content[:length])
        whole = content[:length].count(b"\n")
        assert read_log(log) == records[:whole]
        append_records(log, [make_record("t9")])
        assert read_log(log) == [*records[:whole], make_record("t9")]


def test_a_damaged_line_in_the_middle_is_named_and_nothing_is_dropped_silently(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    append_records(log, [make_record("t1"), make_record("t2"), make_record("t3")])
    lines = log.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][:50] + b"\n"
    log.write_bytes(b"".join(lines))
    with pytest.raises(InputError) as caught:
        read_log(log)
    assert caught.value.where == f"{log}:2"


def test_a_record_of_another_version_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    append_records(log, [make_record("t1", schema=5)])
    with pytest.raises(InputError, match="schema 5"):
        read_log(log)


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_logs_of_earlier_versions_are_read(tmp_path: Path, schema: int) -> None:
    """They lack what was added since."""
    now = msgspec.to_builtins(make_record("t1", schema=schema))
    del now["build"]["executables_sha256"]
    del now["resources"]
    if schema == 1:
        for field in ("warmups", "disturbance", "unrestored"):
            del now[field]
    log = tmp_path / "log.jsonl"
    log.write_bytes(msgspec.json.encode(now) + b"\n")
    (record,) = read_log(log)
    assert record == make_record("t1", schema=schema)
    assert record.build is not None
    assert record.build.executables_sha256 is None


def test_a_write_that_fails_half_way_leaves_no_torn_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.jsonl"
    append_records(log, [make_record("t1")])
    real_write = os.pwrite

    def write_half_then_fail(handle: int, content: bytes, offset: int) -> int:
        if len(content) < 100:
            raise OSError(28, "No space left on device")
        return real_write(handle, content[: len(content) - 50], offset)

    monkeypatch.setattr(os, "pwrite", write_half_then_fail)
    with pytest.raises(OSError, match="No space"):
        append_records(log, [make_record("t2")])
    monkeypatch.undo()
    assert log.read_bytes().endswith(b"\n")
    assert read_log(log) == [make_record("t1")]
