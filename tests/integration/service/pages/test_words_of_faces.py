"""What a fleet refuses, in the words of who asked: a command's option, or the label of the form's field."""

from __future__ import annotations

import html

import pytest
from django.contrib.auth.models import User
from django.test import Client
from integration.service.api_users import TEXT, ApiUser, make_submission
from integration.service.fleets import join

from datamill.protocol.fleet import Policy

pytestmark = pytest.mark.usefixtures("data_folder")


@pytest.mark.usefixtures("database")
def test_a_refusal_names_the_option_to_commands_and_the_label_to_the_form() -> None:
    ada = ApiUser("ada")
    join("always-on", policy=Policy(reboot=False))
    text = TEXT.replace('reboot = "never"', 'reboot = "trial"')
    status, refused = ada.post("/experiments/plan", make_submission(ada.user, text))
    assert status == 400
    assert 'Submit with --reboot never, or write reboot = "never" under [fleet]' in refused["remedy"]
    browser = Client()
    browser.force_login(User.objects.get(username="ada"))
    page = html.unescape(browser.post("/experiments/new/file", {"text": text}).content.decode())
    assert 'Submit with "Reboot: never", or write reboot = "never" under [fleet]' in page
    assert "--reboot" not in page
