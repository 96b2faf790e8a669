"""A bundle's change between two levels is the same figure wherever somebody reads it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from made.synthetic import fit_record, make_bundle_folder, make_phase, make_record

from datamill import anova
from datamill.cli.main import datamill as command
from datamill.results.trials.log import append_records

FACTOR = """
[experiment]
name = "locales"
question = "Is sorting faster with LC_ALL=C?"
replicates = 10
seed = 3
[[package]]
name = "sort"
path = "sort"
[factors]
locale = [LEVELS]
aslr = ["on", "off"]
"""
PACKAGES = """
[experiment]
name = "versions"
replicates = 10
seed = 3
[[package]]
name = "old"
path = "old"
[[package]]
name = "new"
path = "new"
"""


def make_bundle(folder: Path, text: str, means: dict[str, float]) -> Path:
    """A bundle of two builds' worth of trials whose wall time in ms depends on level or package."""
    bundle = make_bundle_folder(folder, text)
    rng = np.random.default_rng(5)
    records = []
    for at, trial in enumerate(bundle.design.trials):
        level = trial.levels.get("locale", trial.package)
        wall = int(1e6 * (means[level] + rng.normal(0, 3)))
        started = 1_700_000_000_000_000_000 + at * 10**10
        made = make_record(trial.trial_id, run=make_phase(wall), started_unix_ns=started)
        records.append(fit_record(made, bundle))
    append_records(bundle.log_file, records)
    return folder


def read(*words: str | Path) -> str:
    result = CliRunner().invoke(command, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.output.replace("\u202f", "").replace("\u2212", "-")


def read_page(file: Path) -> str:
    body = file.read_text().partition("<script")[0] + "".join(
        re.findall(r"<table>.*?</table>", file.read_text(), re.S)
    )
    return html.unescape(re.sub(r"<[^>]+>", "", body)).replace("\u202f", "").replace("\u2212", "-")


def find_lower(text: str) -> str:
    found = re.search(r"([\d.]+)% \(95% interval [\d.]+% to [\d.]+%\) lower than", " ".join(text.split()))
    assert found is not None, text
    return found[1]


def test_a_factors_change_is_one_number_in_every_answer(tmp_path: Path) -> None:
    text = FACTOR.replace("LEVELS", '"C", "C.UTF-8"')
    folder = make_bundle(tmp_path / "b", text, {"C": 30.0, "C.UTF-8": 50.0})
    said = read("report", folder)
    change = find_lower(said)
    assert float(change) == pytest.approx(40, abs=5)
    assert find_lower(read("analyze", "anova", folder)) == change
    assert find_lower(read_page(folder / "report.html")) == change
    (found, *_) = json.loads(read("analyze", "anova", folder, "--json"))["changes"]
    assert (found["level"], found["against"]) == ("C", "C.UTF-8")
    assert 100 * (1 - found["ratio"]["estimate"]) == pytest.approx(float(change), abs=0.06)
    assert found["levels"][0]["change"]["ratio"] == found["ratio"]
    difference = re.search(r"the difference is ([\d.]+) ms", " ".join(said.split()))
    assert difference is not None
    assert -1000 * found["difference"]["estimate"] == pytest.approx(float(difference[1]), abs=0.06)
    # In the tables of terminal and report, with its sign.
    for shown in (read("analyze", "anova", folder), read_page(folder / "report.html")):
        assert f"-{change}% (" in shown
    # And in the picture.
    rows = json.dumps(anova(folder).effects_figure().chart)
    drawn = [float(number) for number in re.findall(r'"change": (-[\d.]+)', rows)]
    assert any(abs(number + float(change)) < 0.06 for number in drawn)


def test_versions_change_by_one_number_in_every_answer(tmp_path: Path) -> None:
    folder = make_bundle(tmp_path / "b", PACKAGES, {"old": 50.0, "new": 30.0})
    change = find_lower(read("report", folder))
    assert float(change) == pytest.approx(40, abs=5)
    assert find_lower(read("compare", folder)) == change
    assert find_lower(read("analyze", "anova", folder)) == change


def test_no_answer_is_about_half_a_change_or_a_share_of_the_grand_mean(tmp_path: Path) -> None:
    text = FACTOR.replace("LEVELS", '"C", "C.UTF-8"')
    folder = make_bundle(tmp_path / "b", text, {"C": 30.0, "C.UTF-8": 50.0})
    read("report", folder)
    for said in (read("analyze", "anova", folder), read_page(folder / "report.html")):
        assert "of the mean" not in said
        assert "departure from the mean" not in said
    assert "half-change" in read("analyze", "anova", folder)


def test_a_sweep_has_a_row_for_each_level_against_the_same_level(tmp_path: Path) -> None:
    text = FACTOR.replace("LEVELS", '"a", "b", "c", "d"')
    folder = make_bundle(tmp_path / "b", text, {"a": 30.0, "b": 35.0, "c": 45.0, "d": 55.0})
    said = read("report", folder)
    assert re.search(r"at a wall_time is [\d.]+% .* lower than at d \(the largest difference of 4", said)
    for level in "abc":
        assert re.search(
            rf"^Mean wall_time: .* at {level}, n = 20; [\d.]+% .* lower than at d\.$", said, re.M
        )
    table = read("analyze", "anova", folder)
    rows = re.findall(r"^(?:locale)? +([abcd]) +20 .* (=|\([^()]*\))$", table, re.M)
    assert [level for level, _ in rows] == ["a", "b", "c", "d"]
    assert [level for level, cell in rows if cell == "="] == ["d"]


def test_a_much_shorter_time_is_told_by_how_many_times_as_fast(tmp_path: Path) -> None:
    text = FACTOR.replace("LEVELS", '"C", "C.UTF-8"')
    folder = make_bundle(tmp_path / "b", text, {"C": 30.0, "C.UTF-8": 240.0})
    pattern = r"at C wall_time is ([\d.]+) times \(95% interval [\d.]+ to [\d.]+\) as fast as at C\.UTF-8"
    found = [
        re.search(pattern, " ".join(said.split()))
        for said in (read("report", folder), read("analyze", "anova", folder))
    ]
    assert all(item is not None and 7 < float(item[1]) < 9 for item in found)
    assert len({item[1] for item in found if item is not None}) == 1
