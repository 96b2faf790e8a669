"""The append-only log: whatever happens, whole records stay and torn ones do not count."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from made.synthetic import make_record

from datamill.experiment.errors import InputError
from datamill.results.trials.log import append_records, read_log


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


def write_three(log: Path) -> list[bytes]:
    append_records(log, [make_record("t1"), make_record("t2")])
    append_records(log, [make_record("t3")])
    return log.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: re.sub(rb'("run":\{.*?"wall_time_ns":)(\d+)', rb"\g<1>\g<2>0", text),
        lambda text: re.sub(rb'("run":\{.*?"wall_time_ns":)(\d+)', rb"\g<1>-\g<2>", text),
        lambda text: re.sub(rb'("run":\{.*?"wall_time_ns":)(\d+)', rb"\g<1>1e30", text),
        lambda text: text.replace(b'"seed":', b'"seed":1'),
        lambda text: text.replace(b'"previous":"', b'"previous":"0')[:-2] + b"}\n",
        lambda text: text[:-4] + b'0"}\n' if text[-4:-3] != b"0" else text[:-4] + b'1"}\n',
        lambda text: text.replace(b'{"schema"', b'{ "schema"'),
    ],
)
def test_a_line_that_was_changed_is_named(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    log = tmp_path / "log.jsonl"
    lines = write_three(log)
    assert change(lines[1]) != lines[1]
    log.write_bytes(b"".join([lines[0], change(lines[1]), lines[2]]))
    with pytest.raises(InputError) as caught:
        read_log(log, sealed=True)
    assert caught.value.where == f"{log}:2"


def test_a_line_that_was_removed_added_or_moved_is_missed(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    first, second, third = write_three(log)
    for lines, place in (
        ([first, third], 2),
        ([second, third], 1),
        ([second, first, third], 1),
        ([first, second, second, third], 3),
    ):
        log.write_bytes(b"".join(lines))
        with pytest.raises(InputError, match="before this one is missing or was changed") as caught:
            read_log(log)
        assert caught.value.where == f"{log}:{place}"


def test_a_line_without_checksum_is_refused_after_one_that_has_it(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    first, second, third = write_three(log)
    bare = second[: second.index(b',"previous"')] + b"}\n"
    log.write_bytes(b"".join([first, bare, third]))
    with pytest.raises(InputError, match="lacks its checksum") as caught:
        read_log(log)
    assert caught.value.where == f"{log}:2"


def test_an_emptied_line_gives_its_trial_back_and_the_rest_is_still_checked(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    first, _, third = write_three(log)
    log.write_bytes(b"".join([first, b"\n", third]))
    assert [record.trial_id for record in read_log(log, sealed=True)] == ["t1", "t3"]
    append_records(log, [make_record("t2")])
    assert [record.trial_id for record in read_log(log, sealed=True)] == ["t1", "t3", "t2"]
    log.write_bytes(log.read_bytes().replace(b'"trial_id":"t3"', b'"trial_id":"t4"'))
    with pytest.raises(InputError, match="not as it was written"):
        read_log(log)


def test_a_log_of_an_older_version_goes_on_with_checksums(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    old = [make_record("t1"), make_record("t2")]
    log.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in old))
    append_records(log, [make_record("t3")])
    assert read_log(log) == [*old, make_record("t3")]
    with pytest.raises(InputError, match="lacks its checksum"):
        read_log(log, sealed=True)
    log.write_bytes(log.read_bytes().replace(b'"t2"', b'"t4"'))
    with pytest.raises(InputError, match="before this one is missing or was changed"):
        read_log(log)


def test_a_record_of_another_version_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    append_records(log, [make_record("t1", schema=6)])
    with pytest.raises(InputError, match="schema 6"):
        read_log(log)


@pytest.mark.parametrize("schema", [1, 2, 3, 4])
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
