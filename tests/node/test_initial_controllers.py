"""The first voters, as an operator writes them."""

import pytest

from barnabas.model.errors import Misconfigured
from barnabas.model.ids import parse_uuid
from barnabas.node.initial_controllers import (
    InitialController,
    initial_controller,
    initial_controllers,
    voter_set,
)
from barnabas.raft.voters import Endpoint, ReplicaKey, Voter, VoterSet

DIRECTORY = "K90IZ-0DRNazJ49kCZ1EMQ"


def test_voters_are_read_in_the_order_of_their_ids_and_written_as_they_were() -> None:
    text = f"2@[::1]:8040:2ggvsS4kQb-fSJ_-zC_Ang,0@example.com:8020:{DIRECTORY},"
    zero, two = initial_controllers(text)
    assert zero == InitialController(0, "example.com", 8020, parse_uuid(DIRECTORY))
    assert two.host == "::1"
    assert f"{two},{zero}," == text


def test_voters_are_reached_by_the_controllers_first_listener() -> None:
    key = ReplicaKey(0, parse_uuid(DIRECTORY))
    found = voter_set(initial_controllers(f"0@h:1:{DIRECTORY}"), "Controller")
    assert found == VoterSet((Voter(key, (Endpoint("CONTROLLER", "h", 1),), (0, 1)),))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "No @ found"),
        ("@h:1:x", "Invalid @ at beginning"),
        ("x@h:1:x", "Failed to parse node id"),
        ("-1@h:1:x", "Invalid negative node id -1"),
        ("1@", "No hostname found after node id."),
        ("1@[::1:1:x", "but no right bracket was found."),
        ("1@h", "No colon following hostname"),
        ("1@[::1]1:x", "Port section must start with a colon."),
        ("1@h:1", "No colon following port"),
        ("1@h:x:x", "Failed to parse port"),
        ("1@h:65536:x", "Invalid port 65536"),
        ("1@h:1:abc", "Failed to parse directory ID in dynamic voter string: Input string `abc`"),
    ],
)
def test_what_is_no_voter_is_refused_in_kafkas_words(text: str, why: str) -> None:
    with pytest.raises(Misconfigured, match=why):
        initial_controller(text)


def test_there_is_a_voter_and_each_once() -> None:
    with pytest.raises(Misconfigured, match=r"No voters given."):
        initial_controllers(",,")
    with pytest.raises(Misconfigured, match=r"Node id 1 was specified more than once."):
        initial_controllers(f"1@h:1:{DIRECTORY},1@g:2:{DIRECTORY}")
