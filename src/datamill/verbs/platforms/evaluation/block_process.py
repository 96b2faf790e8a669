"""A process that evaluates blocks: a matrix and a plan come in, then blocks; their errors go out.

Python's own pools import the program of the user again, or copy its threads; this one does neither.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import BinaryIO

from datamill.experiment.errors import InputError
from datamill.platforms.evaluation.evaluate_block import evaluate_block
from datamill.report.figures.drawer import end_with_parent


def serve_blocks(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer each block by its errors, or by an InputError."""
    matrix, plan = pickle.load(questions)
    while True:
        try:
            block = pickle.load(questions)
        except EOFError:
            return
        answer: object
        try:
            answer = evaluate_block(matrix, plan, block)
        except InputError as error:
            answer = (error.message, error.where, error.remedy)
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever prints must not stand among the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        serve_blocks(sys.stdin.buffer, replies)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)
