"""What the worst requests cost that the coordinator accepts: memory of all its processes, and time.

A coordinator is served; each request is sent alone, and how much more than before its processes hold is
looked at again and again (what they share is counted once). At last ten users ask for plans at a time while
somebody opens `/login` and another asks for an ordinary plan.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from integration.service import databases  # noqa: F401 - sets Django up
from markdown import describe_machine, format_table

# isort: split
from integration.hostile.users.served_users import (
    HEAD,
    Answer,
    MemoryWatch,
    ServedUser,
    await_quiet,
    measure_memory,
    serving_users,
)
from integration.hostile.users.test_user_input import PLAIN, write_long

MIB = 1 << 20


def list_requests(user: ServedUser, trials: int) -> dict[str, Callable[[], Answer]]:
    """The worst requests of each kind that are accepted, or refused last."""
    numbers = f"[factors]\nenv_padding = [{', '.join(map(str, range(1000, 100_000)))}]"
    lists = "x = [" + "[]," * 349_000 + "]"
    whole = HEAD.format(keys=f"replicates = {trials}")
    return {
        "an ordinary plan": lambda: user.plan(PLAIN),
        "a text of 1 MiB, lists alone (refused)": lambda: user.plan(lists),
        "99,000 levels": lambda: user.plan(HEAD.format(keys="") + numbers),
        f"a preview of {trials:,} trials": lambda: user.plan(whole),
        "a covering array of 640,009 points": lambda: user.ask(
            "POST", "/api/experiments/plan", write_long(user, "a large covering array"), timeout_s=900
        ),
        f"{trials:,} trials, entered": lambda: user.ask(
            "POST", "/api/experiments", user.write(whole), timeout_s=3600
        ),
    }


def measure_crowd(users: list[ServedUser]) -> list[list[str]]:
    """Time of `/login` and of an ordinary plan while all other users have long plans made."""
    bob, *crowd = users
    leaving = [
        threading.Thread(
            target=user.abandon,
            args=("/api/experiments/plan", write_long(user, "a large D-optimal design"), 20.0),
        )
        for user in crowd
    ]
    for thread in leaving:
        thread.start()
    time.sleep(4)
    asked = {
        "/login": lambda: bob.ask("GET", "/login"),
        "an ordinary plan": lambda: bob.plan(PLAIN),
    }
    rows = []
    for name, ask in asked.items():
        answers = [ask() for _ in range(15)]
        times = sorted(answer.elapsed_s for answer in answers)
        states = ", ".join(sorted({str(answer.status) for answer in answers}))
        rows.append([name, f"{statistics.median(times):.2f} s", f"{times[-1]:.2f} s", states])
    for thread in leaving:
        thread.join()
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000_000)
    options = parser.parse_args()
    print(f"{describe_machine()}\n", flush=True)
    names = ("bob", *(f"user{number}" for number in range(10)))
    with (
        tempfile.TemporaryDirectory(prefix="datamill-bench-") as folder,
        serving_users(Path(folder) / "served", *names, workers=1) as users,
    ):
        process = users[0].coordinator.process
        assert process is not None
        rows = []
        for name, ask in list_requests(users[0], options.trials).items():
            before = measure_memory(process.pid)
            with MemoryWatch(process.pid) as watch:
                answer = ask()
            left = await_quiet(process.pid, before, 3.0) - before
            rows.append(
                [
                    name,
                    str(answer.status),
                    f"{answer.elapsed_s:.1f} s",
                    f"{(watch.most - before) / MIB:.0f} MiB",
                    f"{max(0, left) / MIB:.0f} MiB",
                ]
            )
            print(rows[-1], flush=True)
        crowd = measure_crowd(users)
    print(format_table(["request", "status", "time", "most memory", "kept"], rows))
    print()
    print(format_table(["beside ten long plans", "median", "longest", "status"], crowd))


if __name__ == "__main__":
    main()
