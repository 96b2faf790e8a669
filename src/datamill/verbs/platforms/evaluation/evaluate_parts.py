"""Parts of an evaluation, here or in several processes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

import datamill
from datamill.experiment.errors import InputError
from datamill.platforms.evaluation.evaluate_part import PartErrors, evaluate_part
from datamill.platforms.evaluation.evaluation_plan import EvaluationPart, EvaluationPlan
from datamill.platforms.scores.score_matrix import ScoreMatrix

#: Processes take half a second to start, so that few models are quicker here.
_WORTH_PROCESSES = 20_000
#: Libraries that would start a thread for each processor in every process.
_ONE_THREAD = dict.fromkeys(("RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")


def evaluate_parts(
    matrix: ScoreMatrix, plan: EvaluationPlan, parts: Sequence[EvaluationPart], processes: int | None
) -> Iterator[PartErrors]:
    """Yield the errors of each part as it ends, in any order.

    `processes` is how many work at once; None takes one for each processor that this process may use, and
    none for a small evaluation.

    Raises:
        InputError: a strategy cannot be used on this matrix.
    """
    models = sum(len(part.variants) * (part.stop - part.start) for part in parts) * len(plan.applications)
    if processes is None:
        processes = (
            os.process_cpu_count() if hasattr(os, "process_cpu_count") else len(os.sched_getaffinity(0))
        )
        processes = processes if models >= _WORTH_PROCESSES else 1
    if processes == 1 or len(parts) == 1:
        for part in parts:
            yield evaluate_part(matrix, plan, part)
        return
    yield from _share_out(matrix, plan, parts, min(processes, len(parts)))


def _share_out(
    matrix: ScoreMatrix, plan: EvaluationPlan, parts: Sequence[EvaluationPart], processes: int
) -> Iterator[PartErrors]:
    waiting: SimpleQueue[EvaluationPart] = SimpleQueue()
    done: SimpleQueue[object] = SimpleQueue()
    for part in parts:
        waiting.put(part)
    start = pickle.dumps((matrix, plan), protocol=pickle.HIGHEST_PROTOCOL)
    workers = [_start_process() for _ in range(processes)]
    threads = [
        threading.Thread(target=_feed, args=(worker, start, waiting, done), daemon=True) for worker in workers
    ]
    try:
        for thread in threads:
            thread.start()
        for _ in parts:
            answer = done.get()
            if isinstance(answer, PartErrors):
                yield answer
            elif isinstance(answer, tuple):
                message, where, remedy = answer
                raise InputError(message, where=where, remedy=remedy)
            else:
                raise RuntimeError("a process of the evaluation ended before its time") from (
                    answer if isinstance(answer, BaseException) else None
                )
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
        for thread in threads:
            thread.join()
        for worker in workers:
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    pipe.close()


def _start_process() -> subprocess.Popen[bytes]:
    # The same datamill as here, wherever it was imported from.
    paths = [str(Path(datamill.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "datamill.verbs.platforms.evaluation.part_process", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)},
        bufsize=0,
    )


def _feed(
    worker: subprocess.Popen[bytes],
    start: bytes,
    waiting: SimpleQueue[EvaluationPart],
    done: SimpleQueue[object],
) -> None:
    """Give a process one part after the other, and hand its answers on."""
    assert worker.stdout is not None
    try:
        with open(worker.stdout.fileno(), "rb", closefd=False) as answers:
            _write(worker, start)
            while True:
                part = waiting.get_nowait()
                _write(worker, pickle.dumps(part, protocol=pickle.HIGHEST_PROTOCOL))
                done.put(pickle.load(answers))
    except Empty:
        return
    except (OSError, EOFError, pickle.UnpicklingError, ValueError) as error:
        done.put(error)


def _write(worker: subprocess.Popen[bytes], content: bytes) -> None:
    assert worker.stdin is not None
    left = memoryview(content)
    while left:
        left = left[worker.stdin.write(left) or 0 :]
