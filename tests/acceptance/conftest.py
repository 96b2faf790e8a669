"""Whole commands, as a user types them."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest import mock

import pytest

from acceptance.gate.review_platform import Platform
from datamill.cli.main import main
from datamill.report.figures.vega_runtime import find_vega_runtime, load_vega_runtime

BIN = Path(sys.executable).parent

EXPERIMENT = """
[experiment]
name = "small"
question = "Which is faster?"
replicates = {replicates}
seed = 3
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
[factors]
aslr = ["on", "off"]
[responses.rate]
unit = "op/s"
formula = "operations / wall_time_s"
direction = "higher"
[limits]
run_timeout = "20s"
"""
COLLECT = """#!/bin/sh
set -e
echo '{"operations": 100}' > metrics.json
tar czf out.tar.gz metrics.json
echo out.tar.gz
"""

_COORDINATOR_VARIABLES = frozenset({"DATAMILL_URL", "DATAMILL_KEY", "DATAMILL_CA"})


@functools.cache
def make_figure_scripts() -> Path | None:
    """The scripts of interactive figures in this user's cache, made once; None where it cannot be written."""
    load_vega_runtime()
    kept = find_vega_runtime().absolute()
    return kept if kept.is_file() else None


class Command:
    """Runs `datamill` in a folder of its own, with a memory of its own.

    Called, it runs in this process: to start one and load it takes longer than most of what is asked. What is
    about processes starts one, with `start` or `launch`.

    That memory begins with the scripts of interactive figures: putting them together takes two seconds, and
    only the test of a first use need see that.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # A state folder of its own: journals and the host's lock are named after it.
        self.environment = {
            # Whatever coordinator its developer uses is none of this user's.
            **{name: value for name, value in os.environ.items() if name not in _COORDINATOR_VARIABLES},
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / ".cache"),
            "DATAMILL_STATE_DIR": str(folder / ".state"),
            "COLUMNS": "120",
        }
        if scripts := make_figure_scripts():
            cache = folder / ".cache" / "datamill"
            cache.mkdir(parents=True, exist_ok=True)
            (cache / scripts.name).unlink(missing_ok=True)
            (cache / scripts.name).symlink_to(scripts)

    def __call__(self, *arguments: str | Path, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
        words = [str(argument) for argument in arguments]
        if words[:1] == ["serve"] or words[:2] in (["worker", "join"], ["worker", "restore"]):
            # Another program takes the place of their process, or speaks in its stead.
            return self.launch(*arguments, timeout_s=timeout_s)
        with (
            _end_after(timeout_s),
            mock.patch.dict(os.environ, self.environment, clear=True),
            contextlib.chdir(self.folder),
            _Said() as out,
            _Said() as err,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            with pytest.raises(SystemExit) as ended:
                main(words)
            return subprocess.CompletedProcess(
                arguments, int(ended.value.code or 0), out.read_all(), err.read_all()
            )

    def launch(self, *arguments: str | Path, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
        """Run it in a process of its own, as a shell does."""
        return subprocess.run(
            [BIN / "datamill", *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [BIN / "datamill", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


class _Said(io.TextIOWrapper):
    """What a command writes; bytes as well, through its `buffer`."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding="utf-8", newline="", write_through=True)

    def read_all(self) -> str:
        self.flush()
        return self._bytes.getvalue().decode()


@contextlib.contextmanager
def _end_after(seconds: float) -> Iterator[None]:
    """Fail what takes longer, as a process would be killed."""

    def fail(*_: object) -> None:
        raise TimeoutError(f"the command did not end within {seconds} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def datamill(tmp_path: Path) -> Command:
    return Command(tmp_path)


@pytest.fixture
def make_experiment(tmp_path: Path) -> Callable[..., Path]:
    """Make an experiment with two packages; keyword arguments replace a package's scripts."""

    def make(
        *, replicates: int = 2, text: str = EXPERIMENT, packages: Sequence[str] = ("a", "b"), **scripts: str
    ) -> Path:
        (tmp_path / "experiment.toml").write_text(text.replace("{replicates}", str(replicates)))
        for name in packages:
            package = tmp_path / name
            package.mkdir(exist_ok=True)
            content = {"run": "#!/bin/sh\nsleep 0.01\n", "collect": COLLECT} | scripts
            for script, body in content.items():
                (package / f"{script}.sh").write_text(body)
                (package / f"{script}.sh").chmod(0o755)
        return tmp_path / "experiment.toml"

    return make


def assert_refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """Check that bad input ended with status 2 and a message that holds `words`, without a traceback."""
    said = result.stdout + result.stderr
    assert result.returncode == 2, said
    assert "Traceback" not in said
    for word in words:
        assert word in said.replace("\n", " "), said


@pytest.fixture
def platform() -> Iterator[Platform]:
    with Platform() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
