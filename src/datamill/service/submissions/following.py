"""When a screening that came first has ended, the experiment that follows it is planned and entered."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from django.db import connection

from datamill.experiment.errors import InputError
from datamill.experiment.messages.phrases import count_nouns
from datamill.results.bundles.bundle_files import write_folder
from datamill.results.judgement.judged_attempts import ATTEMPTS_FILE
from datamill.results.judgement.screened import ScreenedFirst
from datamill.service.bounded_work.calls import call_bounded
from datamill.service.bounded_work.child import Budget
from datamill.service.bounded_work.turns import GoneError
from datamill.service.bundles.export import prepare_bundle
from datamill.service.bundles.logs import BundleError
from datamill.service.coordinator.experiments.follow_ups import EarlierScreening, enter_no_follow_up
from datamill.service.files.store import AwayError
from datamill.service.models import FleetExperiment
from datamill.service.serving.storage.writer import run_as_writer
from datamill.service.submissions.parts import MainPart, make_main_submission
from datamill.service.submissions.planning import plan_submission
from datamill.service.submissions.submitting import submit_experiment

log = logging.getLogger("datamill.coordinator")

_DECIDING = Budget(
    memory_bytes=2 << 30,
    cpu_s=120,
    elapsed_s=300.0,
    remedy="Submit it without screen, or with fewer packages.",
)
#: What of a bundle the decision is made of.
_NEEDED = frozenset(
    ("bundle.json", "experiment.toml", "design.json", "fleet.json", ATTEMPTS_FILE, "log.jsonl")
)


def follow_up(experiment_id: int) -> None:
    """Plan and enter the experiment that follows a screening, or say why there is none.

    Raises:
        AwayError: the storage of files does not answer; the experiment follows when it does again.
    """
    try:
        _follow_up(experiment_id)
    except GoneError:
        # The coordinator ends; the experiment follows when it is there again.
        return
    except AwayError:
        raise
    except (InputError, BundleError, RuntimeError) as problem:
        log.warning("nothing follows experiment %s: %s", experiment_id, problem)
        told = problem.message if isinstance(problem, InputError) else "its inference failed"
        if isinstance(problem, InputError) and problem.remedy:
            told = f"{told}. {problem.remedy}"
        reason = f"the experiment after this screening could not be begun: {told}"
        run_as_writer(enter_no_follow_up, experiment_id, reason, time.time())
    finally:
        # This thread may be another one's tomorrow.
        connection.close()


def _follow_up(experiment_id: int) -> None:
    stored = FleetExperiment.objects.select_related("owner").get(pk=experiment_id)
    main = msgspec.json.decode(bytes(stored.follow or b""), type=MainPart)
    with TemporaryDirectory(prefix="datamill-screening-") as folder:
        prepared = prepare_bundle(stored, time.time(), is_whole=False)
        with prepared.resources:
            write_folder((file for file in prepared.first if file.name in _NEEDED), Path(folder))
        name = f"experiment {experiment_id}"
        text, screened = call_bounded(_DECIDING, decide_main, folder, main.text, main.file_name, name)
    submission = make_main_submission(main, text)
    with plan_submission(submission, stored.owner) as planned:
        if planned.missing:
            raise InputError(f"{count_nouns(len(planned.missing), 'file')} of it are no longer here")
        screening = EarlierScreening(experiment_id, msgspec.json.encode(screened), len(screened.survivors))
        submit_experiment(submission, planned, stored.owner, time.time(), screening=screening)


def decide_main(folder: str, text: str, name: str, told: str) -> tuple[str, ScreenedFirst]:
    """Return the experiment that follows the screening in a folder; runs in a process of its own.

    Raises:
        InputError: when the screening says nothing.
    """
    # Statistics take a second to load, and memory that the coordinator need not have.
    from datamill.conduct.question.screening.main_question import write_main_question
    from datamill.results.bundles.opening import open_bundle

    written, screened, _ = write_main_question(open_bundle(Path(folder)), text, name=name, told=told)
    return written, screened
