"""The first voters of a quorum, as an operator writes them: ``--initial-controllers`` (KIP-853).

    0@example.com:8082:JEXY6aqzQY-32P5TStzaFg,1@[::1]:8083:MvDxzVmcRsaTz33bUuRU6A,…
    id host        port directory

The same for every node that is formatted; a node that finds itself in there makes its metadata
directory that directory.

Kafka's DynamicVoter.java and DynamicVoters.java fix syntax and words, which need a KIP to change.
"""

from barnabas.model.errors import Misconfigured
from barnabas.model.ids import Uuid, parse_uuid, uuid_text
from barnabas.model.value import value
from barnabas.node.properties import whole_number
from barnabas.raft.voters import RECONFIGURABLE, STATIC, Endpoint, ReplicaKey, Voter, VoterSet


@value
class InitialController:
    """One of the first voters."""

    node_id: int
    host: str
    port: int
    directory_id: Uuid

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.node_id}@{host}:{self.port}:{uuid_text(self.directory_id)}"


def initial_controllers(text: str) -> tuple[InitialController, ...]:
    """Read the argument; in the order of their ids."""
    controllers = [initial_controller(each) for each in text.strip().split(",") if each]
    if not controllers:
        raise Misconfigured("No voters given.")
    ids = [controller.node_id for controller in controllers]
    for node_id in ids:
        if ids.count(node_id) > 1:
            raise Misconfigured(f"Node id {node_id} was specified more than once.")
    return tuple(sorted(controllers, key=lambda controller: controller.node_id))


def initial_controller(text: str) -> InitialController:
    """Read one voter."""
    id_text, found, rest = text.strip().partition("@")
    if not found:
        raise Misconfigured("No @ found in dynamic voter string.")
    if not id_text:
        raise Misconfigured("Invalid @ at beginning of dynamic voter string.")
    node_id = whole_number(id_text)
    if node_id is None:
        raise Misconfigured("Failed to parse node id in dynamic voter string.")
    if node_id < 0:
        raise Misconfigured(f"Invalid negative node id {node_id} in dynamic voter string.")
    if not rest:
        raise Misconfigured("No hostname found after node id.")
    host, rest = host_of(rest)
    if not rest.startswith(":"):
        raise Misconfigured("Port section must start with a colon.")
    port_text, found, directory_text = rest[1:].partition(":")
    if not found:
        raise Misconfigured("No colon following port could be found.")
    port = whole_number(port_text)
    if port is None:
        raise Misconfigured("Failed to parse port in dynamic voter string.")
    if not 0 <= port <= 65535:
        raise Misconfigured(f"Invalid port {port} in dynamic voter string.")
    try:
        directory_id = parse_uuid(directory_text)
    except ValueError as error:
        raise Misconfigured(
            f"Failed to parse directory ID in dynamic voter string: {error}"
        ) from error
    return InitialController(node_id, host, port, directory_id)


def host_of(text: str) -> tuple[str, str]:
    """Return the host that a text begins with, and what follows it."""
    if text.startswith("["):
        host, found, rest = text[1:].partition("]")
        if not found:
            raise Misconfigured("Hostname began with left bracket, but no right bracket was found.")
        return host, rest
    host, found, rest = text.partition(":")
    if not found:
        raise Misconfigured("No colon following hostname could be found.")
    return host, f":{rest}"


def voter_set(controllers: tuple[InitialController, ...], listener: str) -> VoterSet:
    """Return the voters as the metadata log tells them, reached by one listener.

    What they can work with nobody has asked them yet; Kafka assumes both kraft.versions, too.
    """
    return VoterSet.of(
        Voter(
            ReplicaKey(each.node_id, each.directory_id),
            (Endpoint(listener.upper(), each.host, each.port),),
            (STATIC, RECONFIGURABLE),
        )
        for each in controllers
    )
