"""Which states follow which: what the database enforces and `docs/lifecycles/` draws.

A first state of "" stands for the state in which a row is made.
"""

from __future__ import annotations

EXPERIMENT = (
    ("", "debugging"), ("", "held"), ("", "running"),
    ("debugging", "held"), ("debugging", "running"), ("debugging", "completed"), ("debugging", "cancelled"),
    ("held", "running"), ("held", "completed"), ("held", "cancelled"),
    ("running", "held"), ("running", "completed"), ("running", "cancelled"),
)  # fmt: skip
TRIAL = (
    ("", "waiting"), ("", "planned"),
    ("waiting", "planned"), ("waiting", "counted"), ("waiting", "given_up"), ("waiting", "cancelled"),
    ("planned", "waiting"), ("planned", "leased"), ("planned", "counted"), ("planned", "given_up"),
    ("planned", "cancelled"),
    ("leased", "waiting"), ("leased", "planned"), ("leased", "counted"), ("leased", "given_up"),
    ("leased", "cancelled"),
    ("given_up", "counted"),
)  # fmt: skip
ATTEMPT = (
    ("", "leased"),
    ("leased", "taken"), ("leased", "counted"), ("leased", "late"), ("leased", "faulty"),
    ("leased", "refused"), ("leased", "lost"), ("leased", "cancelled"),
    ("taken", "counted"), ("taken", "late"), ("taken", "faulty"), ("taken", "refused"), ("taken", "lost"),
    ("lost", "counted"), ("lost", "late"), ("lost", "faulty"),
    ("cancelled", "late"), ("cancelled", "faulty"),
)  # fmt: skip
WORKER = (
    ("", "away"),
    ("idle", "busy"), ("idle", "away"), ("idle", "drained"), ("idle", "removed"),
    ("busy", "idle"), ("busy", "away"), ("busy", "silent"), ("busy", "drained"), ("busy", "removed"),
    ("away", "idle"), ("away", "drained"), ("away", "removed"),
    ("silent", "idle"), ("silent", "away"), ("silent", "drained"), ("silent", "removed"),
    ("drained", "idle"), ("drained", "away"), ("drained", "busy"), ("drained", "removed"),
)  # fmt: skip
#: Transitions by the table that they are enforced on.
LIFECYCLES = {
    "datamill_experiment": EXPERIMENT,
    "datamill_trial": TRIAL,
    "datamill_attempt": ATTEMPT,
    "datamill_worker": WORKER,
}
