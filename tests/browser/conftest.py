"""A coordinator's pages over a database of their own, and a browser that looks at them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest
from running.free_ports import find_free_port

CHROMIUM = next((found for name in ("chromium", "google-chrome") if (found := shutil.which(name))), None)
PASSWORD = "correct-horse-battery"


@dataclass
class Pages:
    """A server with its pages: `obey` has it change the database."""

    url: str
    process: subprocess.Popen[str]
    sessions: dict[str, Any] = field(default_factory=dict)

    def obey(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert _read_line(self.process.stdout) == "done"


@dataclass
class Visit:
    """A page that someone looks at, with what went wrong in the browser and whom it spoke to."""

    page: Any
    url: str
    sessions: dict[str, Any]
    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def open(self, path: str) -> Any:
        return self.page.goto(self.url + path)

    def log_in(self, user: str, password: str = PASSWORD) -> None:
        """Log in and stand before the list of experiments; a session that there is already serves again."""
        if user in self.sessions:
            self.page.context.add_cookies(self.sessions[user])
            self.open("/experiments")
            return
        self.open("/login")
        self.page.get_by_label("User name").fill(user)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Log in").click()
        self.page.get_by_role("heading", name="Experiments").wait_for()
        self.sessions[user] = self.page.context.cookies()


def _read_line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    folder = tmp_path_factory.mktemp("pages")
    port = find_free_port()
    log = (folder / "log").open("w")
    program = Path(__file__).with_name("fleet.py")
    with subprocess.Popen(
        [sys.executable, program, folder, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    ) as process:
        try:
            assert _read_line(process.stdout) == "ready", (folder / "log").read_text()
            yield Pages(f"http://127.0.0.1:{port}", process)
        finally:
            process.terminate()
    assert "Traceback" not in (folder / "log").read_text()


# Not of the session: playwright keeps an event loop running in this thread, and other tests start their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium to open pages with")
    with playwright.sync_playwright() as running:
        # Debian's Chromium draws by GL, which a machine without a graphics processor emulates slowly.
        opened = running.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-gpu-rasterization"]
        )
        yield opened
        opened.close()


@contextmanager
def visiting(browser: Any, url: str, sessions: dict[str, Any], **options: Any) -> Iterator[Visit]:
    """A browser without anything remembered; nothing may be complained of, and nobody else spoken to."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, **options)
    page = context.new_page()
    page.set_default_timeout(90_000)
    visit = Visit(page, url, sessions)
    page.on("console", lambda said: visit.complaints.append(f"{page.url}: {said.text}"))
    page.on("pageerror", lambda error: visit.complaints.append(f"{page.url}: {error}"))
    page.on("request", lambda request: visit.hosts.add(request.url.split("/")[2]))
    try:
        yield visit
    finally:
        context.close()
    assert visit.complaints == []
    assert visit.hosts <= {url.split("/")[2]}


@pytest.fixture
def visit(pages: Pages, browser: Any) -> Iterator[Visit]:
    with visiting(browser, pages.url, pages.sessions) as visit:
        yield visit
