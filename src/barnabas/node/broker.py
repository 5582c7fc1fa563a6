"""The broker of a node, put together: its directories, its listeners, its standing.

    listeners ─▶ ApiVersions          the only thing a broker answers yet
    metadata  ─▶ Broker ─▶ whoever leads the quorum
                   │
    directories ◀──┘ the epoch, in the mark that is written last

Until clients can be served there is nothing to recover: a broker is ready as soon as its metadata
is caught up.
"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Final

from barnabas.broker.shell import Broker
from barnabas.metadata.shell import MetadataShell
from barnabas.net.server import Server, serve
from barnabas.net.versions import Features
from barnabas.node.config import NodeConfig
from barnabas.node.directories import LogDirectories
from barnabas.node.features import told_features
from barnabas.node.leader import controller_of
from barnabas.raft.shell import Quorum
from barnabas.runtime.runtime import Runtime
from barnabas.wire.apis import ApiKey, ServedApis

log: Final = logging.getLogger("barnabas.node")


class BrokerRole:
    """A broker at work in a node."""

    def __init__(
        self,
        broker: Broker,
        servers: Mapping[str, Server],
        directories: LogDirectories,
    ) -> None:
        self.broker: Final = broker
        self.servers: Final = servers
        self.directories: Final = directories

    async def work(self) -> None:
        """Serve until this life is over; ``BrokerFailed`` if that is not what anybody wanted."""
        if await self.broker.caught_up():
            self.directories.are_recovered = True
            self.broker.storage_ready()
        await self.broker.ended()

    async def close(self) -> None:
        """Leave the cluster in good order, then stop listening."""
        await self.broker.stop()
        self.directories.epoch = self.broker.lifecycle.last_epoch
        for server in self.servers.values():
            await server.close()


async def open_broker(
    runtime: Runtime,
    config: NodeConfig,
    cluster_id: str,
    directories: LogDirectories,
    quorum: Quorum,
    metadata: MetadataShell,
) -> BrokerRole:
    """Listen, and begin to register; ``OSError`` if an address cannot be had."""
    beat_ms = config.broker_settings.heartbeat_interval_ms
    session_ms = config.broker_settings.session_timeout_ms
    if 2 * beat_ms > session_ms:
        log.error(
            "[%s] broker.heartbeat.interval.ms=%d leaves less than two heartbeats to a session of "
            "broker.session.timeout.ms=%d, which is the controllers' to set: one that is late and "
            "the broker is fenced; raise the one or lower the other",
            config.name, beat_ms, session_ms,
        )  # fmt: skip
    served = ServedApis("broker", [ApiKey.API_VERSIONS])

    def features() -> Features:
        return told_features(quorum, metadata.image, config.unstable_features)

    servers = {
        listener.name: await serve(
            runtime, listener.bound, served, {}, name=listener.name, features=features
        )
        for listener in config.broker_listeners
    }
    ports = {name: server.address.port for name, server in servers.items()}
    told = config.broker(cluster_id, directories.ids, directories.previous_epoch, ports)
    broker = Broker(runtime, told, partial(controller_of, quorum))
    broker.start()
    await metadata.install(broker)
    return BrokerRole(broker, servers, directories)
