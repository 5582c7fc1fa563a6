"""``barnabas metadata-quorum``: who votes and leads, how far everybody is; changing the voters.

    barnabas metadata-quorum --bootstrap-controller host:9093 describe --status
    barnabas metadata-quorum --bootstrap-controller host:9093 describe --replication
    barnabas metadata-quorum --bootstrap-controller host:9093 --command-config FILE add-controller
    barnabas metadata-quorum --bootstrap-controller host:9093 \\
        remove-controller --controller-id 3 --controller-directory-id ID

Options and what is printed are those of Kafka's ``kafka-metadata-quorum``; ``--json`` prints
objects instead.  It works with the controllers of Apache Kafka as well as with ours, and with
Kafka's brokers (``--bootstrap-server``), which know their controllers.  The file of
``add-controller`` is the properties file of the controller that is to be added, on whose machine
the command is run.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar, cast

from barnabas.host.disk import HostDisk
from barnabas.host.world import live
from barnabas.model.errors import ErrorCode, Misconfigured, Refused
from barnabas.model.ids import ZERO_UUID, Uuid, parse_uuid, uuid_text
from barnabas.model.value import value
from barnabas.net.peers import Peers
from barnabas.node.config import bootstrap_server, node_config
from barnabas.node.meta_properties import read_meta_properties
from barnabas.node.properties import parse_properties
from barnabas.raft.asking import PARTITION, TOPIC
from barnabas.raft.voters import Endpoint
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from barnabas.wire.structs import Request, Response

BROKERS: Final = 1
CONTROLLERS: Final = 2

# What a person is ready to wait for; a leader gives a newcomer its own time to be asked.
TIMEOUT_MS: Final = 10_000
CHANGE_TIMEOUT_MS: Final = 30_000

HEADINGS: Final = (
    "NodeId",
    "DirectoryId",
    "LogEndOffset",
    "Lag",
    "LastFetchTimestamp",
    "LastCaughtUpTimestamp",
    "Status",
)

R = TypeVar("R", bound=Response)
Lines = list[str]
Partition = DescribeQuorumResponse.PartitionData
ReplicaState = DescribeQuorumResponse.ReplicaState


def main(words: Sequence[str]) -> int:
    """Do what was asked; 1 if it cannot be done."""
    asked = parser().parse_args(words)
    lines: Lines = []

    async def work(runtime: Runtime) -> None:
        lines.extend(await done(runtime, asked))

    try:
        asyncio.run(live("metadata-quorum", work))
    except (Refused, Misconfigured, OSError, ValueError) as why:
        print(f"barnabas metadata-quorum: {why}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the commands and options there are."""
    made = argparse.ArgumentParser(
        prog="barnabas metadata-quorum", description="Describe and change the metadata quorum."
    )
    places = made.add_mutually_exclusive_group(required=True)
    places.add_argument("--bootstrap-server", metavar="HOST:PORT,…", help="brokers to begin with")
    places.add_argument(
        "--bootstrap-controller", metavar="HOST:PORT,…", help="controllers to begin with"
    )
    made.add_argument("--command-config", metavar="FILE", help="of the controller to be added")
    made.add_argument("--json", action="store_true", help="print JSON objects")
    commands = made.add_subparsers(dest="command", required=True)
    describe = commands.add_parser("describe", help="who votes, who leads, how far they are")
    what = describe.add_mutually_exclusive_group(required=True)
    what.add_argument("--status", action="store_true", help="in short")
    what.add_argument("--replication", action="store_true", help="replica by replica")
    describe.add_argument("--human-readable", action="store_true", help="times as ages")
    add = commands.add_parser("add-controller", help="let a controller vote")
    add.add_argument("--dry-run", action="store_true", help="say what would be done")
    remove = commands.add_parser("remove-controller", help="let a controller vote no longer")
    remove.add_argument("--controller-id", "-i", type=int, required=True)
    remove.add_argument("--controller-directory-id", "-d", required=True)
    remove.add_argument("--dry-run", action="store_true", help="say what would be done")
    return made


async def done(runtime: Runtime, asked: argparse.Namespace) -> Lines:
    """Do what was asked, and return what there is to say."""
    match asked.command:
        case "add-controller":
            return await add_controller(runtime, asked)
        case "remove-controller":
            return await remove_controller(runtime, asked)
        case _:
            if asked.human_readable and not asked.replication:
                raise ValueError("--human-readable is for --replication")
            quorum = await cluster_of(runtime, asked).describe()
            wall_ms = runtime.clock.wall_ms()
            if asked.json:
                return [json.dumps(quorum.as_json())]
            return list(
                quorum.status() if asked.status else quorum.table(asked.human_readable, wall_ms)
            )


# --- The cluster ---------------------------------------------------------------------------------


class Cluster:
    """The way to whoever leads the quorum."""

    def __init__(
        self, runtime: Runtime, places: Sequence[Address], endpoint_type: int = CONTROLLERS
    ) -> None:
        self._places: Final = places
        self._endpoint_type: Final = endpoint_type
        self._peers: Final = Peers(runtime, "barnabas-metadata-quorum")

    async def describe(self) -> "Quorum":
        """Ask the leader, or a broker that knows it, about the quorum."""
        cluster, leader = await self._reach()
        topic = DescribeQuorumRequest.TopicData(
            topic_name=TOPIC,
            partitions=[DescribeQuorumRequest.PartitionData(partition_index=PARTITION)],
        )
        told = await self._ask(leader, DescribeQuorumRequest(topics=[topic]))
        response = cast(DescribeQuorumResponse, told)
        refuse(response.error_code, response.error_message)
        partition = response.topics[0].partitions[0]
        refuse(partition.error_code, partition.error_message)
        places = {
            node.node_id: [f"{at.name}://{at.host}:{at.port}" for at in node.listeners]
            for node in response.nodes
        }
        return Quorum(cluster.cluster_id, partition, places)

    async def change(self, request: Request) -> None:
        """Ask the leader to change the voters, and see it done."""
        _, leader = await self._reach()
        told = await self._ask(leader, request, CHANGE_TIMEOUT_MS)
        response = cast(AddRaftVoterResponse | RemoveRaftVoterResponse, told)
        refuse(response.error_code, response.error_message)

    async def _reach(self) -> tuple[DescribeClusterResponse, Address]:
        """Return what the first that answers says of its cluster, and whom to ask about it."""
        failures = []
        for place in self._places:
            request = DescribeClusterRequest(endpoint_type=self._endpoint_type)
            try:
                cluster = cast(DescribeClusterResponse, await self._ask(place, request))
            except OSError as error:
                failures.append(f"{place}: {error.strerror or error}")
                continue
            refuse(cluster.error_code, cluster.error_message)
            if self._endpoint_type == BROKERS:
                return cluster, place
            for node in cluster.brokers:
                if node.broker_id == cluster.controller_id:
                    return cluster, Address(node.host, node.port)
            failures.append(f"{place}: knows of no leader")
        raise ConnectionError(f"nobody could be asked: {'; '.join(failures)}")

    async def _ask(
        self, place: Address, request: Request, timeout_ms: int = TIMEOUT_MS
    ) -> Response:
        return await self._peers.ask(place, request, timeout_ms)


def cluster_of(runtime: Runtime, asked: argparse.Namespace) -> Cluster:
    """Return the way to the cluster that was named."""
    if asked.bootstrap_controller:
        return Cluster(runtime, addresses(asked.bootstrap_controller), CONTROLLERS)
    return Cluster(runtime, addresses(asked.bootstrap_server), BROKERS)


def addresses(text: str) -> Sequence[Address]:
    """Read a list of places."""
    return [bootstrap_server(each.strip()) for each in text.split(",")]


def refuse(error: int, why: str | None) -> None:
    """Raise what an answer says is wrong, if anything is."""
    if error:
        code = ErrorCode(error)
        raise Refused(code, why or code.words)


# --- Describing ----------------------------------------------------------------------------------


@value
class Quorum:
    """What a leader told of its quorum."""

    cluster_id: str
    told: Partition
    places: Mapping[int, Sequence[str]]

    @property
    def leader(self) -> ReplicaState:
        """The leader's own row; a leader that votes no more is among the observers."""
        states = (*self.told.current_voters, *self.told.observers)
        found = [state for state in states if state.replica_id == self.told.leader_id]
        if not found:
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, "the quorum has no leader at the moment")
        return found[0]

    @property
    def lag(self) -> tuple[int, int]:
        """How far the voter that has least is behind the leader: records, and milliseconds."""
        leader = self.leader
        last = min(self.told.current_voters, key=lambda state: state.log_end_offset)
        records = leader.log_end_offset - last.log_end_offset
        if last is leader:
            return records, 0
        times = leader.last_caught_up_timestamp, last.last_caught_up_timestamp
        return records, times[0] - times[1] if min(times) >= 0 else -1

    def status(self) -> Iterator[str]:
        """Yield the quorum in short."""
        records, time_ms = self.lag
        yield f"ClusterId:              {self.cluster_id}"
        yield f"LeaderId:               {self.told.leader_id}"
        yield f"LeaderEpoch:            {self.told.leader_epoch}"
        yield f"HighWatermark:          {self.told.high_watermark}"
        yield f"MaxFollowerLag:         {records}"
        yield f"MaxFollowerLagTimeMs:   {time_ms}"
        yield f"CurrentVoters:          {self._listed(self.told.current_voters)}"
        yield f"CurrentObservers:       {self._listed(self.told.observers)}"

    def _listed(self, states: Sequence[ReplicaState]) -> str:
        return f"[{', '.join(json.dumps(self._replica(state)) for state in states)}]"

    def _replica(self, state: ReplicaState) -> dict[str, object]:
        """Return who a replica is, as Kafka's tool writes it."""
        found: dict[str, object] = {"id": state.replica_id}
        if state.replica_directory_id != ZERO_UUID:
            found["directoryId"] = uuid_text(state.replica_directory_id)
        if places := self.places.get(state.replica_id):
            found["endpoints"] = list(places)
        return found

    def rows(self) -> Iterator[tuple[ReplicaState, str]]:
        """Yield every replica and what it is: the leader, then the followers, then observers."""
        leader = self.leader
        yield leader, "Leader"
        for state in self.told.current_voters:
            if state is not leader:
                yield state, "Follower"
        for state in self.told.observers:
            if state is not leader:
                yield state, "Observer"

    def table(self, human_readable: bool, wall_ms: int) -> Iterator[str]:
        """Yield the replicas in columns."""

        def time(at_ms: int) -> str:
            return f"{wall_ms - at_ms} ms ago" if human_readable and at_ms >= 0 else str(at_ms)

        end = self.leader.log_end_offset
        cells = [HEADINGS] + [
            (
                str(state.replica_id),
                uuid_text(state.replica_directory_id),
                str(state.log_end_offset),
                str(end - state.log_end_offset),
                time(state.last_fetch_timestamp),
                time(state.last_caught_up_timestamp),
                status,
            )
            for state, status in self.rows()
        ]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            padded = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
            yield "\t".join(padded).rstrip(" ")

    def as_json(self) -> dict[str, object]:
        """Return everything, for machines."""
        records, time_ms = self.lag
        return {
            "clusterId": self.cluster_id,
            "leaderId": self.told.leader_id,
            "leaderEpoch": self.told.leader_epoch,
            "highWatermark": self.told.high_watermark,
            "maxFollowerLag": records,
            "maxFollowerLagTimeMs": time_ms,
            "replicas": [
                self._replica(state)
                | {
                    "logEndOffset": state.log_end_offset,
                    "lag": self.leader.log_end_offset - state.log_end_offset,
                    "lastFetchTimestamp": state.last_fetch_timestamp,
                    "lastCaughtUpTimestamp": state.last_caught_up_timestamp,
                    "status": status,
                }
                for state, status in self.rows()
            ],
        }


# --- Changing ------------------------------------------------------------------------------------


@value
class Newcomer:
    """The controller that is to be added, by its own properties file."""

    cluster_id: str | None
    node_id: int
    directory_id: Uuid
    endpoints: Sequence[Endpoint]

    def __str__(self) -> str:
        places = ", ".join(
            f"{at.listener}://{bracketed(at.host)}:{at.port}" for at in self.endpoints
        )
        return (
            f"controller {self.node_id} with directory id {uuid_text(self.directory_id)} "
            f"and endpoints: {places}"
        )


def bracketed(host: str) -> str:
    """Return a host as it stands before a port."""
    return f"[{host}]" if ":" in host else host


def newcomer(path: str) -> Newcomer:
    """Read who the controller of a properties file is, and where."""
    config = node_config(parse_properties(Path(path).read_bytes(), path))
    if not config.is_controller:
        raise Misconfigured(f"{path}: process.roles does not name the controller")
    directory = config.metadata_log_dir
    meta = read_meta_properties(HostDisk(), directory)
    if meta is None or meta.directory_id is None:
        raise Misconfigured(
            f"{path}: {directory} is not formatted, or has no directory id; run 'barnabas storage "
            f"format', and this command on the machine of the controller that is to be added"
        )
    raft = config.raft(meta.cluster_id or "", meta.directory_id)
    return Newcomer(meta.cluster_id, config.node_id, meta.directory_id, raft.endpoints)


async def add_controller(runtime: Runtime, asked: argparse.Namespace) -> Lines:
    """Let a controller vote."""
    if asked.command_config is None:
        raise Misconfigured("--command-config has to name the new controller's properties file")
    added = newcomer(asked.command_config)
    if asked.dry_run:
        return [f"DRY RUN of adding {added}"]
    request = AddRaftVoterRequest(
        cluster_id=added.cluster_id,
        timeout_ms=CHANGE_TIMEOUT_MS,
        voter_id=added.node_id,
        voter_directory_id=added.directory_id,
        listeners=[
            AddRaftVoterRequest.Listener(name=at.listener, host=at.host, port=at.port)
            for at in added.endpoints
        ],
    )
    await cluster_of(runtime, asked).change(request)
    return [f"Added {added}"]


async def remove_controller(runtime: Runtime, asked: argparse.Namespace) -> Lines:
    """Let a controller vote no longer."""
    node_id: int = asked.controller_id
    if node_id < 0:
        raise ValueError(f"--controller-id {node_id} is no id: it is below zero")
    directory_id = parse_uuid(asked.controller_directory_id)
    removed = f"KRaft controller {node_id} with directory id {uuid_text(directory_id)}"
    if asked.dry_run:
        return [f"DRY RUN of removing {removed}"]
    request = RemoveRaftVoterRequest(
        cluster_id=None, voter_id=node_id, voter_directory_id=directory_id
    )
    await cluster_of(runtime, asked).change(request)
    return [f"Removed {removed}"]
