"""Requests over HTTP on 127.0.0.1: a server in another process, one connection, each request timed."""

import http.client
import http.server
import json
import os
import signal
import sys
import time
from pathlib import Path

REQUESTS, BODY_BYTES = int(sys.argv[1]), int(sys.argv[2])
if "DATAMILL_MEASUREMENTS" in os.environ:
    REQUESTS = int(os.environ["DATAMILL_MEASUREMENTS"]) + int(os.environ.get("DATAMILL_WARMUP", "0"))
BODY = b"x" * BODY_BYTES


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every request with the same body, and keeps the connection."""

    protocol_version = "HTTP/1.1"
    # One write for head and body: two small ones wait for an acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Start the server, ask it, and write what each request took."""
    # The port is the kernel's choice; it listens before the child is there.
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    child = os.fork()
    if child == 0:
        server.serve_forever()
    port = server.server_address[1]
    server.socket.close()
    times = []
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for _ in range(REQUESTS):
            began = time.perf_counter_ns()
            connection.request("GET", "/")
            body = connection.getresponse().read()
            times.append((time.perf_counter_ns() - began) / 1000)
            if body != BODY:
                sys.exit("http: an answer has another body")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    Path("metrics.json").write_text(json.dumps({"request_us": times, "body_bytes": BODY_BYTES}))


main()
