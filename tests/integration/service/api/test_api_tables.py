"""Results of all experiments as a data set: who gets which parts, what changes, and what is read of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import polars as pl
import pytest
from integration.service.api_users import ApiUser, make_submission
from integration.service.fleets import START_S, fail_record, join, list_leases, say, tell_record

import datamill
from datamill.cli.coordinator.coordinator_client import CoordinatorClient
from datamill.cli.fleet.fetch_tables import fetch_tables
from datamill.experiment.errors import InputError
from datamill.service.coordinator.step import step

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")


class Client:
    """The command's coordinator, which is this process."""

    url = "http://coordinator"

    def __init__(self, user: ApiUser) -> None:
        self._user = user
        self.streamed: list[str] = []

    def get(self, path: str, kind: Any, **parameters: Any) -> Any:
        status, told = self._user.get(path, **parameters)
        assert status == 200
        return msgspec.convert(told, kind)

    @contextmanager
    def stream_made(self, path: str, _wait_s: float) -> Iterator[SimpleNamespace]:
        self.streamed.append(path)
        content = self._user.read(path)
        yield SimpleNamespace(iter_bytes=lambda: iter([content[:100], content[100:]]))


def bring(user: ApiUser, folder: Path) -> list[str]:
    """Bring a folder up to date; return which parts came."""
    client = Client(user)
    fetch_tables(cast(CoordinatorClient, client), folder, as_json=False)
    return client.streamed


def finish(now_s: float = START_S, most: int = 1000) -> None:
    """Let machines make trials: the first attempt of each first one fails."""
    for turn in range(most):
        step(now_s)
        leases = list_leases(now_s)
        if not leases:
            return
        for worker_id, lease in leases.items():
            record = fail_record(lease, "spawn_failed") if turn == 0 else None
            say(worker_id, tell_record(lease, record), now_s)
        now_s += 1.0


def test_each_user_gets_the_parts_that_one_may_read_and_only_what_is_new(tmp_path: Path) -> None:
    ada, kurt = ApiUser("ada"), ApiUser("kurt")
    for name in ("fast", "slow"):
        join(name)
    first = ada.post("/experiments", make_submission(ada.user))[1]["id"]
    finish(most=3)
    assert bring(ada, tmp_path / "ada") == [f"/experiments/{first}/table"]
    assert bring(ada, tmp_path / "ada") == []
    # Another's experiment is not to be seen; what is public is.
    assert bring(kurt, tmp_path / "kurt") == []
    assert kurt.get(f"/experiments/{first}/table")[0] == 404
    public = kurt.post("/experiments", make_submission(kurt.user, public=True))[1]["id"]
    finish(START_S + 100.0)
    assert bring(ada, tmp_path / "ada") == [f"/experiments/{first}/table", f"/experiments/{public}/table"]
    assert bring(kurt, tmp_path / "kurt") == [f"/experiments/{public}/table"]
    client = Client(ada)
    client.url = "http://another"
    with pytest.raises(InputError, match="of the coordinator"):
        fetch_tables(cast(CoordinatorClient, client), tmp_path / "ada", as_json=False)

    table = datamill.read_tables(tmp_path / "ada", levels=["machine", "package"], context=["arch"]).collect()
    assert sorted(table["experiment"].unique()) == [first, public]
    assert set(table["owner"]) == {"ada", "kurt"}
    wall = table.filter(pl.col("response") == "wall_time", pl.col("valid"))
    # Two packages on two machines, twice each, in both experiments.
    assert wall.height == 16
    assert set(wall["context.arch"]) == {"x86_64"}
    own = datamill.read_tables(tmp_path / "ada", experiments=[public]).collect()
    assert own["experiment"].unique().to_list() == [public]
    raw = pl.read_parquet(tmp_path / "ada" / f"experiment={first}" / "part.parquet")
    assert raw.schema["levels"] == pl.List(pl.Struct({"key": pl.String, "value": pl.String}))


def test_a_version_that_is_known_is_not_sent_again() -> None:
    ada = ApiUser("ada")
    for name in ("fast", "slow"):
        join(name)
    number = ada.post("/experiments", make_submission(ada.user))[1]["id"]
    finish(most=3)
    (part,) = ada.get("/tables")[1]["parts"]
    answer = ada._client.get(
        f"/api/experiments/{number}/table", headers={"If-None-Match": f'"{part["version"]}"'}
    )
    assert answer.status_code == 304
    finish(START_S + 100.0)
    assert ada.get("/tables")[1]["parts"][0]["version"] != part["version"]


def test_what_was_cut_off_leaves_the_old_part_in_place(tmp_path: Path) -> None:
    from datamill.conduct.fleet.table_parts import keep_part, read_manifest
    from datamill.protocol.api.bundles import TablePart

    manifest = read_manifest(tmp_path / "tables", "http://coordinator")
    part = TablePart(7, "sorting", "ada", "running", 3, "one")
    manifest = keep_part(tmp_path / "tables", manifest, part, [b"PAR1", b"rest of a file", b"PAR1"])
    with pytest.raises(InputError, match="was cut off"):
        keep_part(tmp_path / "tables", manifest, part, [b"PAR1", b"rest of a fi"])
    file = tmp_path / "tables" / "experiment=7" / "part.parquet"
    assert file.read_bytes() == b"PAR1rest of a filePAR1"
    assert read_manifest(tmp_path / "tables", "http://coordinator").versions == {7: "one"}
    assert [item.name for item in file.parent.iterdir()] == ["part.parquet"]
