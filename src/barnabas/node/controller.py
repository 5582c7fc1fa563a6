"""The controller of a node, put together: what it is told, what it begins with, how it is known.

Member ── quorum ──▶ Controller ◀── handlers ◀── listeners of the controller
                        │
metadata ──▶ PresenceShell ──▶ ControllerRegistration to whoever leads
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from barnabas.controller.activation import activate
from barnabas.controller.config import ControllerConfig
from barnabas.controller.shell import Controller, PresenceShell
from barnabas.model.errors import ErrorCode, Refused
from barnabas.model.features import supported_levels
from barnabas.model.ids import Uuid
from barnabas.net.peers import Peers
from barnabas.node.bootstrap import read_bootstrap
from barnabas.node.config import LONG, NodeConfig, Settings
from barnabas.node.leader import controller_of
from barnabas.raft.shell import Quorum
from barnabas.raft.voters import Endpoints
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest
from barnabas.wire.structs import Message, Request, Response

MS_PER_S: Final = 1_000

PLAINTEXT: Final = 0
"""Kafka's number of the only security protocol that is spoken so far."""

REGISTRATION_TIMEOUT_MS: Final = 10_000


def controller_config(config: NodeConfig, cluster_id: str) -> ControllerConfig:
    """Return what the controller of a node is told."""
    settings = Settings(config.static)
    return ControllerConfig(
        node_id=config.node_id,
        cluster_id=cluster_id,
        unstable_features=config.unstable_features,
        session_timeout_ms=settings.number("broker.session.timeout.ms", 9_000, 1),
        default_replication_factor=settings.number("default.replication.factor", 1, 1),
        num_partitions=settings.number("num.partitions", 1, 1),
        idle_interval_ms=settings.number("metadata.max.idle.interval.ms", 500, 0),
        rebalances=settings.flag("auto.leader.rebalance.enable", True),
        rebalance_check_ms=MS_PER_S
        * settings.number("leader.imbalance.check.interval.seconds", 300, 1, LONG),
        unclean_check_ms=settings.number("unclean.leader.election.interval.ms", 300_000, 1, LONG),
        token_check_ms=settings.number(
            "delegation.token.expiry.check.interval.ms", 3_600_000, 1, LONG
        ),
        static=config.static,
    )


def mind_of(
    runtime: Runtime, config: NodeConfig, cluster_id: str
) -> Callable[[Quorum], Controller]:
    """Return what makes the node's controller; ``Misconfigured`` if what it is told cannot be."""
    told = controller_config(config, cluster_id)
    bootstrap: Sequence[Message] = read_bootstrap(runtime.disk, config.metadata_log_dir).records

    def mind(quorum: Quorum) -> Controller:
        return Controller(
            runtime,
            quorum,
            told,
            lambda state, open_: activate(state, told, bootstrap, open_),
            lambda: quorum.node.voters.version,
            lambda: quorum.node.voters.current.ids,
        )

    return mind


def presence(
    runtime: Runtime, config: NodeConfig, endpoints: Endpoints, quorum: Quorum, peers: Peers
) -> PresenceShell:
    """Return what makes the node's controller known to its cluster."""
    levels = supported_levels(config.unstable_features)
    request = ControllerRegistrationRequest(
        controller_id=config.node_id,
        incarnation_id=Uuid(runtime.entropy.uuid()),
        listeners=[
            ControllerRegistrationRequest.Listener(
                name=at.listener, host=at.host, port=at.port, security_protocol=PLAINTEXT
            )
            for at in endpoints
        ],
        features=[
            ControllerRegistrationRequest.Feature(
                name=name, min_supported_version=least, max_supported_version=most
            )
            for name, (least, most) in levels.items()
        ],
    )
    return PresenceShell(runtime, request, partial(ask_leader, quorum, peers))


async def ask_leader(quorum: Quorum, peers: Peers, request: Request) -> Response:
    """Ask whoever leads the quorum; ``Refused`` if nobody is known to."""
    place = controller_of(quorum)
    if isinstance(place, str):
        raise Refused(ErrorCode.NOT_CONTROLLER, place)
    return await peers.ask(place, request, REGISTRATION_TIMEOUT_MS)
