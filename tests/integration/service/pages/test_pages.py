"""The coordinator's pages without a browser: what forms mean, what is refused, and what is sent along."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.test import Client

from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.experiment.responses import BUILT_IN_UNITS
from datamill.service.models import Event, StoredFile
from datamill.service.pages.new_experiment.fleet_view import HARDWARE_WORDS
from datamill.service.pages.new_experiment.form import format_experiment, read_constraints, read_form
from datamill.service.pages.response_words import RESPONSE_WORDS

DIGEST = "a" * 64


@pytest.fixture
def client(memory_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:  # noqa: ARG001
    monkeypatch.setattr(settings, "DATA_FOLDER", tmp_path)
    client = Client()
    client.force_login(User.objects.create(username="alice"))
    return client


def read_text(query: str) -> Any:
    return parse_experiment(
        format_experiment(read_form(QueryDict(query)), tuple(HARDWARE_WORDS)), name="made"
    )


def test_a_form_means_the_experiment_that_it_says() -> None:
    experiment = read_text(
        f"name=a&question=%22Why%22%3F&p=xz@{DIGEST}&p=bzip2@{DIGEST}&baseline=xz&arch=x86_64&arch=aarch64"
        "&min_memory=2 GiB&min_cores=4&min_clock=2 GHz&counters=on&cpu_model=Xeon [v2]*"
        "&in=arch&share-arch=100&in=aslr&share-aslr=0&share-link_order=50&replicates=7&reboot=block&block_trials=3&redundancy=2"
        "&debug=only&public=on&profile=on"
        "&response=own&metric=rate&formula=bytes / wall_time_s&unit=B/s&direction=higher"
    )
    assert experiment.question == '"Why"?'
    assert [package.name for package in experiment.packages] == ["xz", "bzip2"]
    assert experiment.baseline == "xz"
    limits = experiment.constraints
    assert (limits.arch, limits.min_cores, limits.min_memory_bytes) == (("x86_64", "aarch64"), 4, 2 << 30)
    assert (limits.min_clock_khz, limits.counters) == (2_000_000, True)
    # What was ticked is one model, not a pattern.
    assert limits.cpu_model == ("Xeon [[]v2][*]",)
    assert [(item.dimension, item.share) for item in experiment.coverage] == [("arch", 1.0)]
    # A percentage counts only where its dimension is ticked.
    assert [(item.name, item.coverage) for item in experiment.factors] == [("aslr", 0.0)]
    assert experiment.replicates == 7
    fleet = experiment.fleet
    assert (fleet.reboot, fleet.block_trials, fleet.redundancy, fleet.debug) == ("block", 3, 2, "only")
    assert fleet.public
    assert fleet.profile
    assert [(item.name, item.unit, item.direction) for item in experiment.responses] == [
        ("rate", "B/s", "higher")
    ]


@pytest.mark.parametrize("response", BUILT_IN_UNITS)
@pytest.mark.parametrize("direction", ["lower", "higher"])
def test_every_response_that_is_offered_can_be_asked_for(response: str, direction: str) -> None:
    experiment = read_text(f"name=a&p=x@{DIGEST}&response={response}&direction={direction}")
    assert (experiment.responses[0].formula, experiment.responses[0].direction) == (response, direction)
    assert response in RESPONSE_WORDS


def test_packages_of_one_name_are_told_apart() -> None:
    experiment = read_text(f"name=a&p=xz@{DIGEST}&p=xz@{'b' * 64}&p=xz@{DIGEST}&p=nonsense")
    assert [package.name for package in experiment.packages] == ["xz", "xz-2"]


@pytest.mark.parametrize("query", ["replicates=x", "redundancy=-1", "block_trials=1e3&reboot=block"])
def test_what_is_no_number_is_refused(query: str) -> None:
    with pytest.raises(InputError, match="is not a whole number"):
        read_text(f"name=a&p=x@{DIGEST}&{query}")


def test_constraints_are_read_before_there_is_a_package() -> None:
    assert read_constraints(read_form(QueryDict("min_memory=3 GiB"))).min_memory_bytes == 3 << 30
    with pytest.raises(InputError, match="unknown unit") as caught:
        read_constraints(read_form(QueryDict("min_memory=3 bananas")))
    assert caught.value.remedy


def test_a_file_that_is_too_large_is_refused_before_it_is_read(client: Client) -> None:
    answer = client.post("/experiments/new/upload", CONTENT_LENGTH=str(5 << 30))
    assert answer.status_code == 413
    assert "4.0 GiB" in answer.content.decode()


def test_an_upload_without_the_token_of_the_form_is_refused(client: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    answer = strict.post("/experiments/new/upload", {"file": SimpleUploadedFile("a.tar.gz", b"x")})
    assert answer.status_code == 403
    assert "reload the page" in answer.content.decode()
    assert StoredFile.objects.count() == 0


def test_an_uploaded_package_is_stored_once_and_accounted_for(client: Client, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name in ("run.sh", "collect.sh"):
            member = tarfile.TarInfo(name)
            member.mode, member.size = 0o755, 10
            tar.addfile(member, io.BytesIO(b"#!/bin/sh\n"))
    for _ in range(2):
        file = SimpleUploadedFile("my package.tar.gz", buffer.getvalue())
        answer = client.post("/experiments/new/upload", {"file": file, "name": "a", "share-aslr": "50"})
        assert answer.status_code == 302
    stored = StoredFile.objects.get()
    assert (stored.name, stored.kind) == ("my-package", "package")
    assert f"p=my-package%40{stored.sha256}" in answer["Location"]
    assert "share-aslr=50" in answer["Location"]
    assert (
        Event.objects.filter(kind="package uploaded", package_sha256=stored.sha256, user="alice").count() == 2
    )
    assert [path.name for path in (tmp_path / "files").rglob("*") if path.is_file()] == [stored.sha256]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/experiments/99999999999999999999999", 404),
        ("/experiments/1/trials/none", 404),
        ("/experiments/new/file?fork=x", 404),
        ("/experiments/new/file?fork=%C2%B2", 404),
        ("/experiments/new/space?in=nonsense&share-nonsense=1e999", 200),
        ("/experiments/new/space?replicates=%00", 400),
        ("/workers/nobody", 404),
        ("/nowhere", 404),
        ("/workers?page=999&state=odd", 200),
        ("/experiments?page=-1&state=odd&whose=odd", 200),
        ("/audit", 403),
        ("/users", 403),
    ],
)
def test_odd_addresses_are_answered_with_a_page(client: Client, path: str, status: int) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert "<h1>" in answer.content.decode()


def test_pages_say_what_browsers_may_load(client: Client) -> None:
    answer = client.get("/experiments", secure=True)
    assert all(cookie["secure"] for cookie in answer.cookies.values())
    assert answer.cookies
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_whoever_is_not_logged_in_sees_words_and_the_way_in_alone(client: Client) -> None:
    stranger = Client()
    for path in (
        "/",
        "/experiments",
        "/experiments/1/stream",
        "/workers",
        "/account",
        "/experiments/new/file",
    ):
        answer = stranger.get(path, follow=True)
        assert answer.redirect_chain[-1][0].startswith("/login"), path
    assert stranger.get("/words").status_code == 200
    # Part of a page, whose session is over, does not become the page of the login.
    current = {"HX-Request": "true", "HX-Current-URL": "http://testserver/experiments?whose=public"}
    answer = stranger.get("/experiments", headers=current)
    assert answer.content == b""
    assert answer["HX-Redirect"] == "/login?next=/experiments%3Fwhose%3Dpublic"
    assert client.get("/workers").status_code == 200
