"""A million trials over a fleet: choosing workers and drawing the design, then storing it in each database.

Each database in a process of its own, so that peak memory is that of one. Processor time is of that process;
PostgreSQL's own is not in it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))

from integration.service.databases import serve_postgres, use_database
from integration.service.played_fleet import enrol
from markdown import describe_machine, format_table

from datamill.design.fleet.fleet_plan import plan_fleet
from datamill.experiment.file.parse import parse_experiment
from datamill.results.bundles.bundle_head import BUNDLE_FORMAT, BundleHead, BundlePackage
from datamill.service.coordinator.experiments.submission import NewExperiment, create_experiment
from datamill.service.coordinator.joining.hardware import describe_candidate
from datamill.service.models import FleetWorker, Trial

EXPERIMENT = """
[experiment]
name = "large"
replicates = {replicates}
seed = 1
[[package]]
name = "sort"
path = "sort"
[[package]]
name = "other"
path = "other"
[factors]
optimization = ["-O0", "-O2"]
[coverage]
machine = "100%"
[fleet]
reboot = "never"
"""


def plan_and_store(url: str, workers: int, trials: int) -> dict[str, Any]:
    """Plan the experiment and store it; seconds of each, and the most memory so far in MiB."""
    use_database(url)
    enrol([f"m{number:05d}" for number in range(workers)])
    text = EXPERIMENT.format(replicates=trials // (4 * workers))
    experiment = parse_experiment(text, name="large.toml")
    candidates = [describe_candidate(worker, 0.0) for worker in FleetWorker.objects.all()]
    told: dict[str, Any] = {}
    start, began = time.perf_counter(), time.process_time()
    plan = plan_fleet(experiment, candidates, trial_s=10.0)
    told |= {"plan": time.perf_counter() - start, "plan cpu": time.process_time() - began}
    told["memory of plan"] = read_peak_mib()
    head = BundleHead(
        format=BUNDLE_FORMAT,
        datamill="0.1.0",
        created_unix_ns=0,
        experiment_file="experiment.toml",
        packages=tuple(
            BundlePackage(name, f"packages/{name}.tar.gz", digit * 64, 10, 3, False)
            for name, digit in (("sort", "a"), ("other", "b"))
        ),
    )
    start, began = time.perf_counter(), time.process_time()
    number = create_experiment(
        NewExperiment(FleetWorker.objects.all()[0].owner, text, experiment, head, plan), time.time()
    )
    told |= {"store": time.perf_counter() - start, "store cpu": time.process_time() - began}
    told["memory"] = read_peak_mib()
    told["trials"] = Trial.objects.filter(experiment_id=number, purpose="design").count()
    return told


def read_peak_mib() -> float:
    """Most memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_apart(url: str, options: argparse.Namespace) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--workers", str(options.workers), "--trials", str(options.trials)]
    done = subprocess.run([*command, "--database", url], check=True, stdout=subprocess.PIPE)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def main() -> None:
    """Measure each database and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--database", help="Measure this one alone and print JSON.")
    options = parser.parse_args()
    if options.database:
        print(json.dumps(plan_and_store(options.database, options.workers, options.trials)))
        return
    print(f"{describe_machine()}\n", flush=True)
    told = {}
    with tempfile.TemporaryDirectory(prefix="datamill-bench-") as folder:
        told["SQLite"] = measure_apart(f"sqlite:///{folder}/bench.sqlite3", options)
    with serve_postgres(safe=True) as url:
        told["PostgreSQL"] = measure_apart(url, options)
    rows = [
        [
            name,
            f"{found['trials']:,}",
            f"{found['plan']:.1f} s ({found['plan cpu']:.1f})",
            f"{found['store']:.1f} s ({found['store cpu']:.1f})",
            f"{found['memory of plan']:.0f} MiB",
            f"{found['memory']:.0f} MiB",
        ]
        for name, found in told.items()
    ]
    header = [
        "database", "trials", "planned in (CPU)", "stored in (CPU)", "most memory planning", "and storing",
    ]  # fmt: skip
    print(format_table(header, rows))


if __name__ == "__main__":
    main()
