"""A package that tries everything: what a trial can read, reach and change of the machine that it runs on.

Each attack is harmless where it succeeds: it writes back what stood there, asks for the time that it is, or
only opens what it should not. `metrics.json` says 1 for each attack that succeeded, `told.json` how.
"""

import json
import subprocess
from pathlib import Path

import commanding
import reaching
import reading
import switching
from kernel import ATTACKS

# Each of them has put its attacks into the list.
PARTS = (reading, reaching, switching, commanding)


def main():
    told = {}
    for name, function in ATTACKS.items():
        try:
            told[name] = function()
        except (OSError, subprocess.SubprocessError, AttributeError, ValueError) as error:
            told[name] = False
            print(f"{name}: {error}")
        print(f"{name}: {told[name] or 'nothing'}", flush=True)
    Path("metrics.json").write_text(json.dumps({name: int(bool(result)) for name, result in told.items()}))
    Path("told.json").write_text(json.dumps(told, default=str))


main()
