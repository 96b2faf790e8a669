"""Clients that lay a load on a coordinator: one process, one thread, little work beside the sockets'.

Reads one line of JSON: `port` and `clients`, each with its `request`, which it sends, with the number of
this asking in place of `@@`; it reads until the other side closes, and does it again after `pause_s`. When
the input ends it prints what it saw: statuses, bytes, and the processor time that it took itself, which is
missing where it shares processors with others.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import sys
import time
from collections import Counter
from heapq import heappop, heappush

_PIECE_BYTES = 1 << 18
#: New connections at a time, so that others have their turn.
_MOST_AT_ONCE = 50


class Client:
    """One connection after the other."""

    def __init__(self, request: bytes, pause_s: float) -> None:
        self.request = request
        self.pause_s = pause_s
        self.connection: socket.socket | None = None
        self.has_answer = False


class Clients:
    """All of them, by one selector.

    Args:
        port: of the coordinator, on this machine.
        clients: who asks.
    """

    def __init__(self, port: int, clients: list[Client]) -> None:
        self._address = ("127.0.0.1", port)
        self._selector = selectors.DefaultSelector()
        self._due = [(0.0, number) for number in range(len(clients))]
        self._clients = clients
        self._asked = 0
        self.statuses: Counter[str] = Counter()
        self.bytes = 0

    def run(self) -> None:
        """Ask until the input ends."""
        self._selector.register(sys.stdin, selectors.EVENT_READ, None)
        while True:
            self._connect_due()
            wait_s = self._due[0][0] - time.monotonic() if self._due else None
            for key, _ in self._selector.select(wait_s if wait_s is None else max(0.0, wait_s)):
                if key.data is None:
                    return
                self._read(key.data)

    def _connect_due(self) -> None:
        for _ in range(_MOST_AT_ONCE):
            if not self._due or self._due[0][0] > time.monotonic():
                return
            _, number = heappop(self._due)
            client = self._clients[number]
            try:
                # On one machine this is done before it is waited for, and what is sent fits at once.
                client.connection = socket.create_connection(self._address, 5)
                self._asked += 1
                client.connection.sendall(client.request.replace(b"@@", b"%05d" % self._asked))
                client.connection.setblocking(False)
            except OSError as error:
                self._end(number, type(error).__name__, 1.0)
                continue
            client.has_answer = False
            self._selector.register(client.connection, selectors.EVENT_READ, number)

    def _read(self, number: int) -> None:
        client = self._clients[number]
        assert client.connection is not None
        try:
            piece = client.connection.recv(_PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        self.bytes += len(piece)
        if piece and not client.has_answer:
            client.has_answer = True
            self.statuses[piece[9:12].decode("ascii", "replace")] += 1
        if not piece:
            self._selector.unregister(client.connection)
            self._end(number, "" if client.has_answer else "closed", client.pause_s)

    def _end(self, number: int, status: str, pause_s: float) -> None:
        connection = self._clients[number].connection
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.close()
        self._clients[number].connection = None
        if status:
            self.statuses[status] += 1
        heappush(self._due, (time.monotonic() + pause_s, number))


def main() -> None:
    """Do what the first line of the input says, until the input ends."""
    orders = json.loads(sys.stdin.readline())
    asking = [
        Client(item["request"].encode(), item["pause_s"])
        for item in orders["clients"]
        for _ in range(item.get("times", 1))
    ]
    clients = Clients(orders["port"], asking)
    began_s, cpu_s = time.monotonic(), time.process_time()
    clients.run()
    seen = {
        "statuses": dict(clients.statuses),
        "bytes": clients.bytes,
        "elapsed_s": time.monotonic() - began_s,
        "cpu_s": time.process_time() - cpu_s,
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
