"""What Django says of a deployment is answered, and the unit for systemd is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

ROOT = Path(__file__).parents[4]


def test_nothing_is_left_to_say_of_a_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    # A coordinator has a key of its own in its data folder, as long as this one.
    monkeypatch.setattr("django.conf.settings.SECRET_KEY", "0123456789abcdef" * 4)
    told = StringIO()
    call_command("check", deploy=True, fail_level="WARNING", stdout=told, stderr=told)
    assert "no issues" in told.getvalue()


def test_what_browsers_upload_lies_on_the_disk_of_the_data_while_it_comes(tmp_path: Path) -> None:
    asked = "from datamill.service.settings import FILE_UPLOAD_TEMP_DIR as place; print(place)"
    told = subprocess.run(
        [sys.executable, "-c", asked],
        env=os.environ | {"DATAMILL_SERVICE_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    # A folder for temporary files may be in memory.
    assert told.stdout.strip() == str(tmp_path / "files")


@pytest.mark.usefixtures("memory_database")
def test_what_is_silenced_is_done_with_each_request() -> None:
    secure = Client().get("/login", secure=True)
    assert secure.cookies["csrftoken"]["secure"]
    assert "max-age" in secure["Strict-Transport-Security"]
    plain = Client().get("/login")
    assert not plain.cookies["csrftoken"]["secure"]
    assert "Strict-Transport-Security" not in plain


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("there is no systemd-analyze to ask")
    text = (ROOT / "docs" / "deployment" / "datamill-coordinator.service").read_text()
    unit = tmp_path / "datamill-coordinator.service"
    # The program is not installed here.
    unit.write_text(text.replace("/opt/datamill/bin/datamill", "/bin/true"))
    told = subprocess.run([verify, "verify", unit], capture_output=True, text=True, timeout=60, check=False)
    assert (told.returncode, told.stderr) == (0, "")


def test_the_proxy_says_what_the_coordinator_believes() -> None:
    text = (ROOT / "docs" / "deployment" / "nginx.conf").read_text()
    for line in (
        "proxy_set_header X-Forwarded-For $remote_addr;",
        "proxy_set_header X-Forwarded-Proto $scheme;",
        "proxy_set_header Host $http_host;",
        "proxy_buffering off;",
        "proxy_request_buffering off;",
    ):
        assert line in text
    assert text.count("{") == text.count("}")
