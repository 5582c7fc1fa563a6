"""Silence."""

from barnabas.host.probes import SilentProbes


def test_nobody_listens_and_nobody_suggests() -> None:
    probes = SilentProbes()
    assert not probes.listening
    probes.trace("BecameLeader", epoch=3, voters=(1, 2, 3))
    assert not any(probes.buggify("send less") for _ in range(1_000))
