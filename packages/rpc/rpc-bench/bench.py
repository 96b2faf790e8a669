"""Remote calls by XML-RPC on 127.0.0.1: nothing but the call, and records marshalled there and back."""

import json
import os
import signal
import sys
import time
import xmlrpc.client
import xmlrpc.server
from collections.abc import Callable
from pathlib import Path

CALLS, RECORDS = int(sys.argv[1]), int(sys.argv[2])
if "DATAMILL_MEASUREMENTS" in os.environ:
    CALLS = int(os.environ["DATAMILL_MEASUREMENTS"]) + int(os.environ.get("DATAMILL_WARMUP", "0"))
SENT = [{"number": n, "name": f"record {n}", "weight": n / 7, "kept": n % 2 == 0} for n in range(RECORDS)]


class Handler(xmlrpc.server.SimpleXMLRPCRequestHandler):
    """Keeps the connection, and sends small answers at once."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True


def measure(call: Callable[[], object], expected: object) -> list[float]:
    """Return what each of the calls took, in microseconds."""
    times = []
    for _ in range(CALLS):
        began = time.perf_counter_ns()
        answer = call()
        times.append((time.perf_counter_ns() - began) / 1000)
        if answer != expected:
            sys.exit("rpc: a call returned something else")
    return times


def main() -> None:
    """Start the server, call it, and write what each call took."""
    server = xmlrpc.server.SimpleXMLRPCServer(("127.0.0.1", 0), Handler, logRequests=False)
    server.register_function(lambda: 0, "ping")
    server.register_function(lambda records: records, "echo")
    child = os.fork()
    if child == 0:
        server.serve_forever()
    port = server.server_address[1]
    server.socket.close()
    try:
        remote = xmlrpc.client.ServerProxy(f"http://127.0.0.1:{port}/")
        metrics = {
            "ping_us": measure(remote.ping, 0),
            "marshal_us": measure(lambda: remote.echo(SENT), SENT),
            "records": RECORDS,
        }
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    Path("metrics.json").write_text(json.dumps(metrics))


main()
