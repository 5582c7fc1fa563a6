"""The randomness of this machine."""

import base64
from collections import Counter

import pytest

from barnabas.host.entropy import HostEntropy

entropy = HostEntropy()


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8, 255, 256, 257])
def test_every_number_below_a_limit_comes_and_no_other(limit: int) -> None:
    # The chance to miss one of 257 in so many draws is below one in 10^15.
    drawn = Counter(entropy.below(limit) for _ in range(limit * 45))
    assert set(drawn) == set(range(limit))


def test_large_limits_are_reached_into() -> None:
    # Half of what lies below is in the upper half; 200 draws that all miss it are none.
    assert max(entropy.below(1 << 100) for _ in range(200)) >= 1 << 99


def test_between_includes_both_ends() -> None:
    assert {entropy.between(-2, 2) for _ in range(400)} == {-2, -1, 0, 1, 2}
    assert entropy.between(7, 7) == 7


def test_nothing_lies_below_nothing() -> None:
    with pytest.raises(AssertionError, match="nothing lies between 0 and 0"):
        entropy.below(0)


def test_octets_are_as_many_as_asked_for_and_differ() -> None:
    assert [len(entropy.octets(count)) for count in (0, 1, 16, 1_000)] == [0, 1, 16, 1_000]
    assert entropy.octets(16) != entropy.octets(16)


def test_a_uuid_is_one_that_kafka_could_have_drawn() -> None:
    drawn = {entropy.uuid() for _ in range(3_000)}
    assert len(drawn) == 3_000
    for uuid in drawn:
        assert (len(uuid), uuid[6] >> 4, uuid[8] >> 6) == (16, 4, 2)
        assert not base64.urlsafe_b64encode(uuid).startswith(b"-")
