"""The coordinator's door with bounds of tenths of a second: what never ends is ended, members stay."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import errno
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from integration.hostile.door.quick_doors import HEAD, PATIENCE_S, QUICK, WELL, Served, run

from datamill.service.front_door.visitors.bounds import choose_bounds
from datamill.service.front_door.visitors.visitors import Stage, Visitors
from datamill.service.serving.tls import make_tls_files


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"G",
        b"GET /a" + HEAD + b"X: never ends",
        b"GET /a" + HEAD + b"\r\nGET /b" + HEAD,
        b"POST /body" + HEAD + b"Content-Length: 9\r\n\r\na",
        b"POST /body" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\na",
        b"POST /a" + HEAD + b"Content-Length: 9\r\n\r\na",
        b"POST /body" + HEAD + b"Content-Length: 9\r\nExpect: 100-continue\r\n\r\n",
        b"GET /large" + HEAD + b"\r\n",
        b"GET /member/large" + HEAD + b"\r\n",
        (b"GET /large" + HEAD + b"\r\n") * 50,
    ],
)  # fmt: skip
def test_what_is_never_finished_is_ended_and_leaves_nothing(said: bytes) -> None:
    async def act(served: Served) -> None:
        came = []
        admit = served.visitors.admit
        # Not whom it has at some moment: a visitor may be gone when a busy machine looks.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(served.visitors, "admit", lambda origin: came.append(origin) or admit(origin))
            _, writer = await served.connect(said)
            await served.until(lambda: came == ["127.0.0.1"])
        await served.until(lambda: len(served.visitors) == 0)
        state = served.web.server_state
        await served.until(lambda: not state.connections and not state.tasks)
        assert came == ["127.0.0.1"]
        writer.close()

    run(act)


def test_a_header_that_drips_does_not_gain_time() -> None:
    async def act(served: Served) -> None:
        reader, writer = await served.connect(b"GET /a" + HEAD)
        began = asyncio.get_running_loop().time()
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof() and reader.exception() is None:
                writer.write(b"X: y\r\n")
                await asyncio.sleep(0.05)
        assert asyncio.get_running_loop().time() - began < PATIENCE_S / 2

    run(act)


def test_a_large_body_that_comes_steadily_may_take_its_time_and_a_members_any() -> None:
    async def act(served: Served) -> None:
        for path, piece in ((b"/body", b"x" * 2000), (b"/member/body", b"x")):
            head = b"POST " + path + HEAD + b"Content-Length: %d\r\n\r\n" % (20 * len(piece))
            reader, writer = await served.connect(head)
            for _ in range(20):
                writer.write(piece)
                await asyncio.sleep(0.08)
            assert b"200 OK" in await asyncio.wait_for(reader.readline(), PATIENCE_S)
            writer.close()

    run(act)


def test_handshakes_that_are_never_finished_are_ended(tmp_path: Path) -> None:
    tls = make_tls_files(tmp_path, [], datetime.datetime.now(datetime.UTC))

    async def act(served: Served) -> None:
        # Their time is long enough for all of them to be there at once, and for a handshake that is finished.
        held = [await served.connect(b"\x16\x03\x01" if number % 2 else b"") for number in range(20)]
        await served.until(lambda: len(served.visitors) == 20)
        trusting = ssl.create_default_context(cafile=str(tls.authority))
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port, ssl=trusting)
        writer.write(b"GET /a" + HEAD + b"Connection: close\r\n\r\n")
        assert (await asyncio.wait_for(reader.read(), PATIENCE_S)).endswith(WELL)
        await served.until(lambda: len(served.visitors) == 0)
        # Speaking something else than TLS is over at once.
        plain, _ = await served.connect(b"GET /a" + HEAD + b"\r\n")
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(plain.read(), PATIENCE_S)
        await served.until(lambda: len(served.visitors) == 0)
        for _, other in [*held, (reader, writer)]:
            other.close()

    run(act, replace(QUICK, handshake_s=4.0, head_s=4.0), tls=tls)


def test_who_asks_nothing_makes_room_and_members_stay() -> None:
    async def act(served: Served) -> None:
        members = [await served.connect(b"GET /member/stream" + HEAD + b"\r\n") for _ in range(5)]
        for reader, _ in members:
            await asyncio.wait_for(reader.readuntil(b": a\n"), PATIENCE_S)
        held = [await served.connect(b"GET /a" + HEAD) for _ in range(100)]
        assert (await served.ask()).endswith(WELL)
        assert len(served.visitors) <= QUICK.most_of_near
        assert not any(reader.at_eof() for reader, _ in members)
        for _, writer in [*held, *members]:
            writer.close()
        await served.until(lambda: len(served.visitors) == 0)
        assert (await served.ask()).endswith(WELL)

    run(act, replace(QUICK, head_s=30.0))


def test_members_that_fill_their_bound_are_turned_away_and_nobody_else_is_ended() -> None:
    async def act(served: Served) -> None:
        members = []
        for _ in range(QUICK.most_of_near):
            members.append(await served.connect(b"GET /member/stream" + HEAD + b"\r\n"))
            await asyncio.wait_for(members[-1][0].readuntil(b": a\n"), PATIENCE_S)
        reader, one_more = await served.connect(b"GET /a" + HEAD + b"\r\n")
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        assert len(served.visitors) == QUICK.most_of_near
        for _, writer in [*members, (reader, one_more)]:
            writer.close()

    run(act)


def test_open_files_that_ran_out_make_room_without_a_flood(caplog: pytest.LogCaptureFixture) -> None:
    async def act(served: Served) -> None:
        held = [await served.connect(b"GET /a" + HEAD) for _ in range(8)]
        await served.until(lambda: len(served.visitors) == 8)
        (door,) = served.web.servers
        real = door._listening  # type: ignore[attr-defined]

        class Exhausted:
            asked = 0

            def accept(self) -> None:
                self.asked += 1
                raise OSError(errno.EMFILE, "Too many open files")

            def fileno(self) -> int:
                return int(real.fileno())

        door._listening = gone = Exhausted()  # type: ignore[attr-defined]
        waiting = asyncio.create_task(served.ask())
        await served.until(lambda: gone.asked > 0 and len(served.visitors) == 0)
        before = gone.asked
        await asyncio.sleep(1.0)
        assert gone.asked - before <= 10
        door._listening = real  # type: ignore[attr-defined]
        assert (await waiting).endswith(WELL)
        for _, writer in held:
            writer.close()

    run(act, replace(QUICK, head_s=30.0))
    assert [record for record in caplog.records if "no connection can be taken" in record.message]


def test_each_origin_has_its_bound_and_rate_and_the_oldest_that_waits_goes_first() -> None:
    now_s = [100.0]
    visitors = Visitors(QUICK, lambda: now_s[0])
    ended = []

    def come(origin: str, stage: Stage = Stage.ARRIVING, *, member: bool = False) -> Any:
        visitor = visitors.admit(origin)
        if visitor is not None:
            visitor.close = lambda: ended.append(visitor)
            visitor.is_member = member
            visitors.enter(visitor, stage)
        now_s[0] += 0.001
        return visitor

    first = come("192.0.2.1")
    asking = [come("192.0.2.1", Stage.ASKING) for _ in range(8)]
    member = come("192.0.2.1", Stage.ASKING, member=True)
    other = come("192.0.2.2")
    assert come("192.0.2.1") is not None
    assert ended == [first]
    assert (visitors.count_origin("192.0.2.1"), visitors.count_origin("192.0.2.2")) == (10, 1)
    # Then those of strangers that have asked for long, and never what a member asks.
    for _ in range(30):
        come("192.0.2.1", Stage.ASKING)
    now_s[0] += 10
    for _ in range(30):
        come("192.0.2.1", Stage.ASKING)
        now_s[0] += 1
    assert all(visitor in ended for visitor in asking)
    assert member not in ended
    assert other not in ended
    # In one second no more new ones than that, whatever becomes of them.
    now_s[0] = 1000.0
    taken = [visitors.admit("192.0.2.3") for _ in range(QUICK.new_a_second + 50)]
    assert taken.count(None) >= 50
    # Many origins share the bound of all.
    for number in range(200):
        now_s[0] += 1
        assert come(f"198.51.100.{number}") is not None
    assert len(visitors) == QUICK.most


@pytest.mark.parametrize(
    ("files", "most"), [(256, 64), (1024, 256), (4096, 1792), (20_000, 4096), (1 << 20, 4096)]
)
def test_connections_leave_files_for_the_rest(files: int, most: int) -> None:
    bounds = choose_bounds(files)
    assert bounds.most == most
    assert bounds.most_of_origin <= bounds.most_of_near < bounds.most
