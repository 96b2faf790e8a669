"""Many requests of one stranger at a time: others have their turn."""

from __future__ import annotations

import asyncio
from typing import Any

from integration.hostile.door.quick_doors import PATIENCE_S, QUICK

from datamill.service.front_door.visitors.turns import MOST_OF_ORIGIN, VisitorTurns


def test_few_requests_of_an_origin_are_answered_at_a_time_and_slow_bodies_hold_no_turn() -> None:
    async def go() -> None:
        running, most = [0], [0]
        go_on = asyncio.Event()

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            while (await receive()).get("more_body"):
                pass
            running[0] += 1
            most[0] = max(most[0], running[0])
            if scope["path"] == "/wait":
                await go_on.wait()
            running[0] -= 1
            await send({"type": "http.response.start", "status": 200, "headers": []})

        turns = VisitorTurns(slow, QUICK)
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        def come(path: str, address: str, body: asyncio.Event | None = None) -> asyncio.Task[None]:
            async def receive() -> Any:
                if body is not None:
                    await body.wait()
                return {"type": "http.request", "more_body": False}

            return asyncio.create_task(turns({"path": path, "client": (address, 1)}, receive, send))  # type: ignore[arg-type]

        never = asyncio.Event()
        bodies = [come("/body", "192.0.2.1", never) for _ in range(100)]
        waiting = [come("/wait", "192.0.2.1") for _ in range(50)]
        async with asyncio.timeout(PATIENCE_S):
            while running[0] < MOST_OF_ORIGIN:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert running[0] == MOST_OF_ORIGIN
        await asyncio.wait_for(come("/quick", "192.0.2.2"), PATIENCE_S)
        go_on.set()
        await asyncio.gather(*waiting)
        assert most[0] == MOST_OF_ORIGIN + 1
        for task in bodies:
            task.cancel()
        await asyncio.gather(*bodies, return_exceptions=True)
        assert not turns._by_origin

    asyncio.run(go())
