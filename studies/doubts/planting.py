"""Disturbances that are planted in trials, and the work that they disturb."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

#: What the command line of a trial's own work holds; the planting waits until such a process is there.
MARK = "doubts-work"

_PYTHON = """#!/bin/sh
exec python3 -c '{body}' {mark}
"""
#: About a second of one processor.
COMPUTE = """
total = 0
for number in range({loops}):
    total += number * number
"""
#: Writes a file to its world and reads its pages again and again, in an order that no kernel reads ahead.
PAGES = """
import mmap, os, random
source = random.Random(1)
with open("data", "wb") as file:
    for _ in range(64):
        file.write(os.urandom(1 << 20))
    os.fsync(file.fileno())
with open("data", "rb") as file:
    memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    pages = list(range(len(memory) // 4096))
    for _ in range(3):
        source.shuffle(pages)
        for page in pages[:3000]:
            memory[page * 4096]
"""
#: Writes small files to the disk of its world, and waits until each is there.
FILES = """
import os
for number in range(150):
    with open("file", "wb") as file:
        file.write(bytes(16384))
        file.flush()
        os.fsync(file.fileno())
"""
#: Prints two megabytes, which the worker keeps on the host.
PRINTS = """
for _ in range(2000):
    print("x" * 1023)
"""

_NEIGHBOUR = """
import os, sys, time
home = os.sched_getaffinity(0)
for line in sys.stdin:
    processor, seconds = line.split()
    home = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {int(processor)})
    began, used, end = time.time_ns(), time.process_time_ns(), time.monotonic() + float(seconds)
    while time.monotonic() < end:
        pass
    print(began, time.time_ns(), time.process_time_ns() - used, flush=True)
    os.sched_setaffinity(0, home - {int(processor)} or home)
"""


class Use(NamedTuple):
    """When a neighbour computed, by the clock, and the processor time that it got."""

    began_ns: int
    ended_ns: int
    used_ns: int


@dataclass(frozen=True)
class Plant:
    """A disturbance: its name, and what it changes.

    `act` runs beside the trial from the moment its work began; `limits` are bounds of the trial; `full` lets
    the disk be full on which its output is kept. `harmless` ones must raise no doubt.
    """

    name: str
    act: Callable[[Neighbour], None] | None = None
    limits: dict[str, int] = field(default_factory=dict)
    full: bool = False
    harmless: bool = False


@dataclass(frozen=True)
class Work:
    """What a trial does by `run.sh`, at these levels, with which plants."""

    name: str
    run: str
    plants: tuple[Plant, ...]
    levels: dict[str, str] = field(default_factory=dict)


class Neighbour:
    """A process of the host that computes where and as long as it is told, and sleeps otherwise."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _NEIGHBOUR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.use: Use | None = None

    def compute(self, processor: int, seconds: float) -> None:
        """Let it compute on a processor, and note what it got."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{processor} {seconds}\n")
        self._process.stdin.flush()
        self.use = Use(*map(int, self._process.stdout.readline().split()))

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def write_run(body: str) -> str:
    """Return a `run.sh` that does this work under the mark."""
    return _PYTHON.format(body=body.replace("'", '"'), mark=MARK)


def load_processor(processor: int, share: float, work_s: float) -> Callable[[Neighbour], None]:
    """Return a load of one processor for a share of the time that the work takes."""

    def act(neighbour: Neighbour) -> None:
        time.sleep(0.1 * work_s)
        neighbour.compute(processor, share * work_s)

    return act


def write_to_disk(folder: Path, seconds: float) -> Callable[[Neighbour], None]:
    """Return a load of the disk: four threads write large pieces and wait for each."""

    def write(path: Path) -> None:
        end = time.monotonic() + seconds
        with path.open("wb", buffering=0) as file:
            while time.monotonic() < end:
                file.seek(0)
                file.write(bytes(32 << 20))
                os.fsync(file.fileno())
        path.unlink()

    def act(_: Neighbour) -> None:
        writing = [threading.Thread(target=write, args=(folder / f"beside-{n}",)) for n in range(4)]
        for thread in writing:
            thread.start()
        for thread in writing:
            thread.join()

    return act


@contextlib.contextmanager
def planting(plant: Plant | None, neighbour: Neighbour) -> Iterator[None]:
    """Plant a disturbance once the work of the trial that runs meanwhile has begun."""
    ended = threading.Event()

    def wait_and_act() -> None:
        while not ended.wait(0.003):
            if _works():
                if plant is not None and plant.act is not None:
                    plant.act(neighbour)
                return

    watching = threading.Thread(target=wait_and_act)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


def _works() -> bool:
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError):
                words = (path / "cmdline").read_bytes().split(b"\0")
                if MARK.encode() in words and words[0] == b"python3":
                    return True
    return False
