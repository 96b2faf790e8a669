"""Whose turn it is costs the same however many trials there were, also on PostgreSQL."""

from __future__ import annotations

import pytest
from integration.service.fleets import START_S, join, submit

from datamill.service.coordinator.sharing import waiting
from datamill.service.coordinator.state import rows
from datamill.service.coordinator.step import step

_JOINS_OF_WHOLE_TABLES = {"Hash", "Merge"}


def plan(query: str) -> str:
    """What PostgreSQL would do for a query."""
    return "\n".join(str(row[0]) for row in rows.select_rows(f"EXPLAIN {query}"))


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_postgresql_reads_no_table_of_trials_to_find_whose_turn_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker_ids = [join(f"m{number}").worker_id for number in range(40)]
    submit(worker_ids)
    step(START_S)
    for table in ("datamill_trial", "datamill_attempt", "datamill_worker"):
        rows.execute(f"ANALYZE {table}")
    asked: list[str] = []
    select = rows.select_rows

    def note(sql: str, values: object = ()) -> list[tuple[object, ...]]:
        if "RECURSIVE" in sql and not sql.startswith("EXPLAIN"):
            asked.append(plan(sql))
        return select(sql, values)  # type: ignore[arg-type]

    monkeypatch.setattr(rows, "select_rows", note)
    waiting.list_turns(START_S, None, ())
    (told,) = asked
    assert not _JOINS_OF_WHOLE_TABLES & set(told.split()), told
    # Left to itself, PostgreSQL would join whole tables here.
    assert _JOINS_OF_WHOLE_TABLES & set(plan(_write_query()).split())
    assert [row[0] for row in select("SHOW enable_hashjoin")] == ["on"]


def _write_query() -> str:
    """The query of every idle machine, as it is sent."""
    sent: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting, "select_by_index", lambda sql, *_: sent.append(sql) or [])
        waiting.list_turns(START_S, None, ())
    return sent[0]


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_postgresql_compiles_no_statement() -> None:
    assert rows.select_rows("SHOW jit") == [("off",)]
