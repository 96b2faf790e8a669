"""Factors that are one variable of `run.sh`, written as folders like those that people write."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from datamill.experiment.experiment import Sweep
from datamill.packing.command_packages import write_script
from datamill.packing.user_factors import FACTOR_FILE


def write_sweep_factor(folder: Path, sweep: Sweep) -> None:
    """Write the folder of a factor whose level `run.sh` finds in a variable, where `verify` looks for it."""
    folder.mkdir(parents=True)
    what = f"What stands for {sweep.argument} in commands" if sweep.argument else "A variable of run.sh"
    lines = (
        f"name = {json.dumps(sweep.name)}",
        f"summary = {json.dumps(f'{what}: {sweep.variable}.')}",
        'scope = "environment"',
    )
    (folder / FACTOR_FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    levels = " ".join(shlex.quote(level) for level in sweep.levels)
    write_script(folder / "levels", f"#!/bin/sh\nprintf '%s\\n' {levels}\n")
    write_script(folder / "set", f"#!/bin/sh\nprintf '{sweep.variable}=%s\\n' \"$1\"\n")
    write_script(folder / "verify", f"#!/bin/sh\nprintf '%s\\n' \"${{{sweep.variable}-}}\"\n")
