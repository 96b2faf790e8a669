"""For each line of `routes.py` a request that is sound, and what those are answered who have the right.

A new address needs a line in `routes.py` and one here: in `READS` for its right to read, in `CHANGES` for its
right to change. Values in braces are those of `built_place.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ask:
    """A sound request, and its answer to those who may ask.

    `shows` stands in the answer, or in the address that it leads to; `private` only where those who ask may
    see Ada's experiments. `to` fills places of the address otherwise than usual.
    """

    shows: str = ""
    private: str = ""
    status: int = 200
    query: str = ""
    sends: str | Mapping[str, object] = field(default_factory=dict)
    to: Mapping[str, str] = field(default_factory=dict)


def _lead(shows: str, sends: Mapping[str, object] | None = None, **to: str) -> Ask:
    """What a form of a page asks, and the page that it leads to."""
    return Ask(shows, status=302, sends=sends or {}, to=to)


def _send(sends: str | Mapping[str, object], shows: str, **to: str) -> Ask:
    return Ask(shows, sends=sends, to=to)


#: A form is shown at an address with its name; without one it is given one, and leads there.
_NAME = "form=a-form-of-this-test"
_NEW = Ask("<h1>New experiment</h1>")
_NAMED = Ask("<h1>New experiment</h1>", query=_NAME)
_PASSWORD = "a password of no use"
_SAID = {"title": "Loops", "authors": ["Doe, Jane"], "licence": "MIT"}
_FORM = {"title": "Loops", "authors": "Doe, Jane", "licence": "MIT", "everybody": "yes"}

#: Address -> what is asked of it by GET.
READS: dict[str, Ask] = {
    "": Ask("/experiments", status=302),
    "login": Ask("<h1>Log in to datamill</h1>"),
    "words": Ask("<h1>What the words mean</h1>"),
    "experiments": Ask("<h1>Experiments</h1>", "two-loops", query="whose=all"),
    "experiments/new": _NAMED,
    "experiments/new/from": Ask("<h1>Where to begin</h1>"),
    "experiments/new/machines": _NEW,
    "experiments/new/machines/preview": Ask("machines may take part"),
    "experiments/new/space": _NEW,
    "experiments/new/space/preview": Ask("package is chosen"),
    "experiments/new/file": _NAMED,
    "experiments/<int:experiment_id>": Ask("<h1>two-loops</h1>"),
    "experiments/<int:experiment_id>/progress": Ask("counted"),
    "experiments/<int:experiment_id>/stream": Ask("event: end"),
    "experiments/<int:experiment_id>/trials": Ask("{trial}"),
    "experiments/<int:experiment_id>/events": Ask("experiment completed"),
    "experiments/<int:experiment_id>/file": Ask("Which is faster?"),
    "experiments/<int:experiment_id>/answer": Ask("p1"),
    "experiments/<int:experiment_id>/elsewhere": Ask("two-loops on machines"),
    "experiments/<int:experiment_id>/verdict": Ask('class="verdict"'),
    "experiments/<int:experiment_id>/analysis": Ask("two-loops, analysed", query="verb=summary"),
    "experiments/<int:experiment_id>/report": Ask("Which is faster?"),
    "experiments/<int:experiment_id>/figures/<int:number>.<figure:kind>": Ask("wall_time by package"),
    "experiments/<int:experiment_id>/table.<table:kind>": Ask("p1"),
    "experiments/<int:experiment_id>/bundle": Ask("Which is faster?"),
    "experiments/<int:experiment_id>/crate": Ask("an archive"),
    "experiments/<int:experiment_id>/fork": Ask("fork={ended}", status=302),
    "experiments/<int:experiment_id>/trials/<str:trial_id>": Ask("{trial}"),
    "experiments/<int:experiment_id>/trials/<str:trial_id>/<int:number>/record": Ask('"{trial}"'),
    "experiments/<int:experiment_id>/trials/<str:trial_id>/<int:number>/files/<path:name>": Ask(
        "run.sh printed"
    ),
    "packages": Ask("<h1>Packages</h1>", "{package}", query="whose=all"),
    "packages/<str:sha256>": Ask("run.sh"),
    "packages/<str:sha256>/archive": Ask("{package_content}"),
    "experiments/<int:experiment_id>/publish": Ask("<h1>Publish two-loops</h1>", query=_NAME),
    "experiments/<int:experiment_id>/rerun": Ask("<h1>Run two-loops again</h1>", query=_NAME),
    "experiments/<int:experiment_id>/reruns": Ask("/experiments/{held}"),
    "compare": Ask("<h1>Experiments side by side</h1>"),
    "compare/results": Ask("<h1>Experiments side by side</h1>"),
    "compare/figures/<int:number>.<figure:kind>": Ask("wall_time", query="id={ended}&id={another}"),
    "publications": Ask("A result"),
    "publications/<str:key>": Ask("A result"),
    "publications/<str:key>/archive.zip": Ask("an archive"),
    "publications/<str:key>/citation.<citation:kind>": Ask("A result"),
    "publications/<str:key>/badge.svg": Ask("<svg"),
    "publications/<str:key>/figure.svg": Ask("<svg"),
    "publications/<str:key>/embed": Ask("A result"),
    "oembed": Ask("A result", query="url=http://testserver/publications/{publication}"),
    "workers": Ask("/workers/one", "two-loops"),
    "workers/<str:name>": Ask("<h1>one", "two-loops"),
    "workers/<str:name>/noise": Ask("not known yet"),
    "queue": Ask("<h1>Queue</h1>", "two-loops"),
    "factors": Ask("/factors/swappiness"),
    "factors/<str:name>": Ask("<h1>aslr</h1>"),
    "quarantine": Ask("<h1>Quarantine</h1>", "it took two machines down"),
    "audit": Ask("<h1>Audit log</h1>"),
    "users": Ask("carol"),
    "administration": Ask("<h1>Administration</h1>"),
    "notices": Ask("<h1>Notices</h1>"),
    "notices.atom": Ask("datamill: ada", query="key={feed}"),
    "account": Ask("<h1>Account of "),
    "api/openapi.json": Ask('"openapi"'),
    "api/experiments": Ask("[", "two-loops"),
    "api/experiments/<number>": Ask("two-loops"),
    "api/experiments/<number>/trials": Ask("{trial}"),
    "api/experiments/<number>/events": Ask("experiment completed"),
    "api/experiments/<number>/answer": Ask("Which is faster?"),
    "api/experiments/<number>/analysis": Ask('"answer"', query="verb=summary"),
    "api/experiments/<number>/table.csv": Ask("p1"),
    "api/experiments/<number>/times": Ask('"p1"', query="package=p1"),
    "api/experiments/<number>/prediction": Ask("played", query="package=p1"),
    "api/experiments/<number>/bundle": Ask("Which is faster?"),
    "api/experiments/<number>/reruns": Ask('"id":{held}'),
    "api/experiments/<number>/crate": Ask("an archive"),
    "api/experiments/<number>/source": Ask("{package}"),
    "api/publications": Ask("A result"),
    "api/publications/<key>": Ask("A result"),
    "api/publications/<key>/answer": Ask("It is."),
    "api/publications/<key>/archive": Ask("an archive"),
    "api/experiments/<number>/stream": Ask("event: end"),
    "api/experiments/<experiment_id>/figures/<number>.<kind>": Ask("wall_time by package"),
    "api/experiments/<number>/report": Ask("Which is faster?"),
    "api/compare": Ask('"answer"', query="experiment={ended}&experiment={another}"),
    "api/compare/figures/<number>.<kind>": Ask("wall_time", query="experiment={ended}&experiment={another}"),
    "api/packages": Ask('"packages"', "{package}"),
    "api/packages/<sha256>": Ask("run.sh"),
    "api/workers": Ask('"one"'),
    "api/workers/<name>": Ask('"one"'),
    "api/scores": Ask('"scores"'),
    "api/scores.csv": Ask("machine,benchmark"),
    "api/queue": Ask('"experiments"', "two-loops"),
    "api/factors": Ask("swappiness"),
    "api/factors/<name>": Ask("aslr"),
    "api/tables": Ask('"parts"', "two-loops"),
    "api/experiments/<number>/table": Ask("PAR1"),
    "api/me": Ask('"user"'),
    "api/me/room": Ask('"user"'),
    "api/keys": Ask('"test"'),
    "api/notices": Ask("["),
    "api/storage": Ask('"kinds"'),
    "api/retention": Ask('"uploads"'),
    "api/backups": Ask("["),
    "api/users": Ask("carol"),
    "api/quarantine": Ask("[", "it took two machines down"),
    "api/events": Ask("experiment completed"),
}

#: Address -> what is asked of it by POST: of one that stands for several changes, each of them.
CHANGES: dict[str, tuple[Ask, ...]] = {
    "login": (_lead("/", {"username": "bob", "password": _PASSWORD}),),
    "logout": (_lead("/login"),),
    "experiments/new/upload": (_lead("q3", {"file": "{archive}"}),),
    "experiments/new/file": (
        _send({"text": "{text}"}, "three-loops"),
        _lead("/experiments/", {"text": "{text}", "submit": "yes"}),
    ),
    "experiments/<int:experiment_id>/answer/again": (_lead("/experiments/{ended}"),),
    "experiments/<int:experiment_id>/cancel": (_lead("/experiments/{running}", experiment_id="{running}"),),
    "experiments/<int:experiment_id>/release": (_lead("/experiments/{held}", experiment_id="{held}"),),
    "experiments/<int:experiment_id>/publish": (_lead("/publications/", _FORM),),
    "experiments/<int:experiment_id>/rerun": (_lead("/experiments/", {"margin": "0.05"}),),
    "publications/<str:key>/withdraw": (_lead("/publications/", {"reason": "It was wrong."}),),
    "tokens": (_send({"life": "3600"}, ".plain"),),
    "workers/<str:name>/<str:change>": (
        _lead("/workers/one", change="drain"),
        _lead("/workers/two", name="two", change="resume"),
        _lead("/workers/two", name="two", change="remove"),
    ),
    "queue/share": (_lead("/queue", {"name": "bob", "share": "2"}),),
    "factors/<str:name>/<str:change>": (
        _lead("/factors/aslr", {"reason": "it is not wanted"}, change="forbid"),
        _lead("/factors/env_padding", name="env_padding", change="allow"),
    ),
    "quarantine/<str:sha256>/lift": (_lead("/quarantine"),),
    "users": (_send({"name": "dora"}, "dora"),),
    "users/change": (_lead("/users", {"name": "bob", "active": "no"}),),
    "administration/quota": (_lead("/administration", {"name": "bob", "trials": "5"}),),
    "administration/retention": (_lead("/administration", {"uploads": "30"}),),
    "administration/backup": (_lead("/administration"),),
    "notices/add": (_send({"kind": "feed"}, "notices.atom?key="),),
    "notices/<int:number>/<str:change>": (
        _lead("/notices", change="try"),
        _lead("/notices", change="resume"),
        _lead("/notices", {"code": "{code}"}, number="{mail}", change="confirm"),
        _lead("/notices", change="remove"),
    ),
    "account/keys": (_send({"name": "ci", "scope": "read"}, "dmk_"),),
    "account/keys/revoke": (_lead("/account", {"name": "test"}),),
    "account/password": (
        _lead(
            "/account",
            {"old_password": _PASSWORD}
            | dict.fromkeys(("new_password1", "new_password2"), "another password of no use"),
        ),
    ),
    "api/openapi.json": (Ask('"openapi"'),),
    "api/experiments/plan": (_send("{submission}", '"trials"'),),
    "api/experiments": (_send("{submission}", '"id"'),),
    "api/experiments/<number>/cancel": (_send({}, "cancelled", number="{running}"),),
    "api/experiments/<number>/release": (_send({}, "running", number="{held}"),),
    "api/experiments/<number>/rerun": (_send({"margin": 0.05}, '"original"'),),
    "api/experiments/<number>/publish": (_send(_SAID, '"key"'),),
    "api/experiments/<number>/priority": (_send({"priority": 2.0}, "two-loops", number="{running}"),),
    "api/publications/<key>/withdraw": (_send({"reason": "It was wrong."}, "It was wrong."),),
    "api/workers/enrol": (_send("{enrolment}", '"three"'),),
    "api/workers/credential": (_send("{credential}", '"nats_jwt"'),),
    "api/workers/<name>/drain": (_send({}, "drained"),),
    "api/workers/<name>/resume": (_send({}, "two", name="two"),),
    "api/workers/<name>/remove": (_send({}, "removed", name="two"),),
    "api/factors": (_send({"sha256": "{factor}"}, "swappiness"),),
    "api/factors/<name>/forbid": (_send({"reason": "it is not wanted"}, "it is not wanted"),),
    "api/factors/<name>/allow": (_send({}, "env_padding", name="env_padding"),),
    "api/users": (_send({"name": "dora"}, "dora"),),
    "api/users/<name>/open": (_send({}, "bob"),),
    "api/users/<name>/close": (_send({}, "bob"),),
    "api/users/<name>/share": (_send({"share": 2.0}, "bob"),),
    "api/users/<name>/quota": (_send({"open_trials": 5}, "bob"),),
    "api/keys": (_send({"name": "ci", "scopes": ["account"]}, "dmk_"),),
    "api/keys/revoke": (_send({"name": "test"}, '"test"'),),
    "api/notices": (_send({"kind": "feed"}, "notices.atom?key="),),
    "api/notices/<number>/confirm": (_send({"code": "{code}"}, "ada@example.org", number="{mail}"),),
    "api/notices/<number>/try": (_send({}, "hooks.example"),),
    "api/notices/<number>/resume": (_send({}, "hooks.example"),),
    "api/notices/<number>/remove": (_send({}, "ada@example.org"),),
    "api/retention": (_send({"uploads_days": 30}, '"uploads_days"'),),
    "api/backups": (_send({}, ".sqlite3"),),
    "api/tokens": (_send({"life_s": 3600.0}, ".plain"),),
    "api/quarantine/<sha256>/lift": (Ask(status=204),),
}
