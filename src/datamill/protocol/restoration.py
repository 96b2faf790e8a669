"""What `datamill-worker restore --json` found in its journal and undid."""

from __future__ import annotations

import msgspec


class Restoration(msgspec.Struct, frozen=True, gc=False):
    """What was undone on a host, one sentence each.

    `overruled` are settings that somebody else had changed meanwhile, `forgotten` ones that a reboot undid;
    `left` could not be undone, `damaged` says what is wrong with the journal, `would_undo` is what a dry run
    found, and `given_up` what stays as it is.
    """

    is_restored: bool = False
    undone: tuple[str, ...] = ()
    overruled: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()
    would_undo: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()
