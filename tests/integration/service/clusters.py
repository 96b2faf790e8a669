"""A cluster of three nats-servers, as a lab has one, each of which can be killed and started again."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from running.free_ports import find_free_port

from datamill.service.broker.keys import Keys
from datamill.service.broker.server import find_server
from datamill.service.broker.server_config import BrokerPlace, format_server_config


@dataclass
class Node:
    """One nats-server of the cluster."""

    name: str
    place: BrokerPlace
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [str(find_server()), "-c", str(self.place.config_file)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)


@dataclass
class Cluster:
    """Three nodes."""

    nodes: list[Node] = field(default_factory=list)

    @property
    def urls(self) -> list[str]:
        return [f"nats://127.0.0.1:{node.place.port}" for node in self.nodes]

    def find(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)


@contextmanager
def running_cluster(folder: Path, keys: Keys, jetstream: str = "") -> Iterator[Cluster]:
    """Three nodes, killed at the end; `jetstream` is a block of theirs with a place for `store`."""
    ports = [find_free_port() for _ in range(3)]
    cluster = Cluster()
    for number in range(3):
        name = f"node{number}"
        place = BrokerPlace(folder / name, "127.0.0.1", find_free_port())
        place.folder.mkdir(parents=True)
        text = format_server_config(place, keys, {}, time.time()).replace('"coordinator"', f'"{name}"', 1)
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
        text += jetstream.format(store=place.folder / "store")
        text += f'cluster {{ name: lab, listen: "127.0.0.1:{ports[number]}", routes: [{routes}] }}\n'
        place.config_file.write_text(text)
        cluster.nodes.append(Node(name, place))
    for node in cluster.nodes:
        node.start()
    try:
        yield cluster
    finally:
        for node in cluster.nodes:
            if node.process is not None and node.process.poll() is None:
                node.kill()
