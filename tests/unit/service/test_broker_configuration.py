"""The configuration of the embedded broker, as it is written again whenever a worker was removed."""

from __future__ import annotations

from pathlib import Path

from datamill.service.broker.keys import load_keys
from datamill.service.broker.server_config import BrokerPlace, format_server_config


def test_nothing_changes_with_time_that_a_running_broker_does_not_read_again(tmp_path: Path) -> None:
    """nats-server refuses a whole new configuration when the operator's claims are others."""
    keys = load_keys(tmp_path / "keys")
    place = BrokerPlace(tmp_path, "127.0.0.1", 4222, None)
    removed = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
    at_start, later = (
        format_server_config(place, keys, revoked, now_s).splitlines()
        for revoked, now_s in (({}, 1_800_000_000.0), ({removed: 7e9}, 1_800_086_400.0))
    )
    changed = [one for one, other in zip(at_start, later, strict=True) if one != other]
    assert changed
    assert not [line for line in changed if line.startswith("operator")]
