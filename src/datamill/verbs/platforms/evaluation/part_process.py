"""A process that evaluates parts: a matrix and a plan come in, then parts; their errors go out.

Python's own pools import the program of the user again, or copy its threads; this one does neither.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import BinaryIO

from datamill.experiment.errors import InputError
from datamill.platforms.evaluation.evaluate_part import evaluate_part
from datamill.report.figures.end_with_parent import end_with_parent


def serve_parts(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer each part by its errors, or by an InputError."""
    matrix, plan = pickle.load(questions)
    while True:
        try:
            part = pickle.load(questions)
        except EOFError:
            return
        answer: object
        try:
            answer = evaluate_part(matrix, plan, part)
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
        serve_parts(sys.stdin.buffer, replies)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)
