"""The report in a real browser: offline, its figures come alive, and in print they are still."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from made.answered_study import render_page
from made.planted_study import plan_study

CHROMIUM = next((found for name in ("chromium", "google-chrome") if (found := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to open the page with")

EVIL = '<img src=x onerror=console.error("evil")>'
LEVELS = {"package": ("xz", EVIL), "optimization": ("-O0", "-O2"), "aslr": ("on", "off")}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with every kind of figure: the response has a heavy tail."""

    def measure(rng: np.random.Generator, point: object) -> float:
        slow = 2.0 if point["optimization"] == "-O0" else 1.0  # type: ignore[index]
        return slow * float(1 + 0.05 * rng.random() + 0.1 * rng.pareto(1.5))

    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(render_page(*plan_study(LEVELS, measure, replicates=60)), encoding="utf-8")
    return file


def open_page(page: Path, profile: Path, *options: str) -> tuple[str, list[str]]:
    """Open the page without any network; what the browser prints, and what the page says on its console."""
    arguments = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9",
        f"--user-data-dir={profile}", "--enable-logging=stderr", "--virtual-time-budget=30000",
        "--window-size=1100,1400", *options, page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(
        arguments, capture_output=True, encoding="utf-8", errors="replace", timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line and page.name in line]
    return done.stdout, said


def test_all_figures_come_alive_offline_and_nothing_complains(page: Path, tmp_path: Path) -> None:
    document, said = open_page(page, tmp_path, "--dump-dom")
    assert said == []
    assert 'data-figures="live"' in document
    figures = re.findall(r'<figure class="chart( is-live)?" data-name="([^"]*)"', document)
    names = [name for _, name in figures]
    assert {"boxes-time", "distribution", "effect-aslr", "residuals", "effects-by-quantile"} <= set(names)
    assert [name for alive, name in figures if not alive] == []
    assert document.count('class="marks"') >= len(figures)
    # The legend has become buttons, and every figure can be saved.
    assert document.count('aria-pressed="true"') == 2
    assert document.count('class="save"') == len(figures)


def test_the_legend_hides_a_group_in_all_figures_that_tell_groups_apart(page: Path, tmp_path: Path) -> None:
    click = (
        "<script>const wait = setInterval(() => { if (!document.documentElement.dataset.figures) return; "
        "clearInterval(wait); document.querySelector('[data-group]').click(); }, 50);</script></body>"
    )
    clicked = page.with_name("clicked.html")
    start, _, end = page.read_text(encoding="utf-8").rpartition("</body>")
    clicked.write_text(f"{start}{click}{end}", encoding="utf-8")
    before, _ = open_page(page, tmp_path / "before", "--dump-dom")
    after, said = open_page(clicked, tmp_path / "after", "--dump-dom")
    assert said == []
    assert 'aria-pressed="false"' in after

    def count_lines(document: str, name: str) -> int:
        figure = document[document.index(f'data-name="{name}"') :]
        live = figure[figure.index('class="scroll live') : figure.index("<script")]
        drawn = re.findall(r'<path [^>]*aria-label|<path [^>]*stroke-width="1\.6"', live)
        return len(drawn)

    for name in ("distribution", "effect-aslr"):
        assert (count_lines(before, name), count_lines(after, name)) == (2, 1), name


def test_a_figure_can_be_saved_as_svg_png_and_data(page: Path, tmp_path: Path) -> None:
    script = (
        "<script>const make = URL.createObjectURL;"
        " URL.createObjectURL = (blob) => { blob.text().then((text) => document.body.append("
        "/<svg/.test(text) && /95% interval/.test(text) ? 'a caption;' : ';'));"
        " return make(blob); };"
        "HTMLAnchorElement.prototype.click = function () { document.body.append("
        "`saved ${this.download} as ${this.href.slice(0, 15)};`); };"
        "const wait = setInterval(() => { if (!document.documentElement.dataset.figures) return; "
        "clearInterval(wait); document.querySelectorAll('.chart .save')[0].querySelectorAll('button')"
        ".forEach((button) => button.click()); }, 50);</script></body>"
    )
    changed = tmp_path / "changed.html"
    start, _, end = page.read_text(encoding="utf-8").rpartition("</body>")
    changed.write_text(f"{start}{script}{end}", encoding="utf-8")
    document, said = open_page(changed, tmp_path / "profile", "--dump-dom")
    assert said == []
    saved = dict(re.findall(r"saved (\S+) as ([^;]*)", document[document.rindex("<footer") :]))
    assert set(saved) >= {"change-package.svg", "change-package.csv", "change-package.png"}
    assert saved["change-package.png"].startswith("data:image/png")
    # A file stands without the page: it says what its points and bars are.
    assert "a caption;" in document[document.rindex("<footer") :]


@pytest.mark.parametrize("scripts", ["run", "blocked"])
def test_the_printed_page_has_its_figures(page: Path, tmp_path: Path, scripts: str) -> None:
    if not shutil.which("pdftotext"):
        pytest.skip("pdftotext is not here to read the printed page")
    text = page.read_text(encoding="utf-8")
    shown, printed = tmp_path / "shown.html", tmp_path / "page.pdf"
    policy = "script-src 'unsafe-inline' 'unsafe-eval'"
    assert policy in text
    shown.write_text(text.replace(policy, "script-src 'none'") if scripts == "blocked" else text)
    open_page(shown, tmp_path / "profile", f"--print-to-pdf={printed}", "--no-pdf-header-footer")
    words = subprocess.run(
        ["pdftotext", str(printed), "-"], capture_output=True, encoding="utf-8", check=True
    ).stdout
    # These words of the axes are in the figures only.
    for part in ("normal score", "share of observations", "standard deviations", "time (s)"):
        assert part in words, part
    assert "Save as" not in words
    assert words.count("normal score") == 1


def test_without_scripts_every_figure_is_its_still_twin(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown = tmp_path / "shown.html"
    shown.write_text(text.replace("script-src 'unsafe-inline' 'unsafe-eval'", "script-src 'none'"))
    document, _ = open_page(shown, tmp_path / "profile", "--dump-dom")
    assert 'data-figures="live"' not in document
    document = re.sub(r"<(style|script)>.*?</\1>", "", document, flags=re.DOTALL)
    assert "is-live" not in document
    assert document.count("<svg") == document.count('<figure class="chart"') >= 8
