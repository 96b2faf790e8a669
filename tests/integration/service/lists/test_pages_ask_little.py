"""What a page asks the database for does not grow with what there is: rows are read together."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from integration.service.api_users import TEXT, ApiUser, make_submission
from integration.service.fleets import join

pytestmark = pytest.mark.usefixtures("data_folder", "memory_database")

#: Pages, and the most questions that one may ask however little there is.
PAGES = {
    "/experiments": 12,
    "/experiments/1": 24,
    "/experiments/1/trials": 12,
    "/experiments/1/progress": 16,
    "/packages": 12,
    "/packages?whose=all": 12,
    "/workers": 16,
    "/factors": 8,
    "/queue": 24,
    "/notices": 10,
    "/administration": 24,
    "/experiments/new/from": 10,
}


def count_queries(client: Client, path: str) -> int:
    client.get(path)
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(path)
    assert answer.status_code == 200, path
    return len(asked)


def test_pages_ask_as_often_for_much_as_for_little() -> None:
    ada = ApiUser("ada", admin=True)
    client = Client()
    client.force_login(ada.user)
    for name in ("fast", "slow"):
        join(name)
    submit(ada, "first", 2)
    little = {path: count_queries(client, path) for path in PAGES}
    assert {path: asked for path, asked in little.items() if asked > PAGES[path]} == {}
    for name in ("a", "b", "c", "d"):
        join(name)
    for name in ("second", "third", "fourth"):
        submit(ada, name, 20)
        ApiUser(f"user-{name}")
    much = {path: count_queries(client, path) for path in PAGES}
    assert {path: (little[path], much[path]) for path in PAGES if much[path] > little[path]} == {}
    # One of twenty times as many trials asks for no more either.
    assert count_queries(client, "/experiments/2") <= little["/experiments/1"]


def test_no_page_of_machines_looks_through_all_attempts() -> None:
    ada = ApiUser("ada", admin=True)
    client = Client()
    client.force_login(ada.user)
    join("fast")
    submit(ada, "first", 2)
    for path in ("/workers", "/workers/fast", "/queue"):
        client.get(path)
        with CaptureQueriesContext(connection) as asked:
            client.get(path)
        of_attempts = [query["sql"] for query in asked if "datamill_attempt" in query["sql"]]
        assert of_attempts, path
        for sql in of_attempts:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
                plan = [row[3] for row in cursor.fetchall()]
            looked = [step for step in plan if "attempt" in step or step.split()[1] == "a"]
            # Through an index whose name says so: by number, by worker and number, or those that are open.
            assert not [step for step in looked if step.startswith("SCAN")], (path, sql, plan)
            open_ones = "'taken'" in sql
            assert not open_ones or any("one_open_attempt_a_worker" in step for step in looked), (sql, plan)


def submit(ada: ApiUser, name: str, replicates: int) -> None:
    text = TEXT.replace("two-loops", name).replace("replicates = 2", f"replicates = {replicates}")
    status, told = ada.post("/experiments", make_submission(ada.user, text))
    assert status == 200, told
