"""One direction between two hosts."""

import pytest

from barnabas.sim.kernel import Kernel
from barnabas.sim.link import Link, Links
from barnabas.sim.tape import Tape


class Waiting:
    """Somebody who waits for a link."""

    def __init__(self, called: list[str], name: str) -> None:
        self._called = called
        self._name = name

    def link_healed(self) -> None:
        self._called.append(self._name)


def test_a_link_cut_twice_is_healed_twice_and_then_calls_who_waits_in_order() -> None:
    link = Link(Kernel(), Tape(1), "a", "b")
    called: list[str] = []
    link.cut()
    link.cut()
    for name in ("first", "second"):
        link.hold(Waiting(called, name))
    link.heal()
    assert link.blocked
    assert called == []
    link.heal()
    assert not link.blocked
    assert called == ["first", "second"]
    with pytest.raises(AssertionError, match="a>b was healed more often than cut"):
        link.heal()


def test_a_link_to_a_host_without_power_lets_nothing_through() -> None:
    link = Link(Kernel(), Tape(1), "a", "b")
    called: list[str] = []
    link.power(powered=False)
    link.hold(Waiting(called, "one"))
    link.cut()
    link.power(powered=True)
    assert called == [], "it is still cut"
    link.heal()
    assert called == ["one"]


def test_delays_are_within_the_law_with_a_rare_tail() -> None:
    kernel = Kernel()
    link = Link(kernel, Tape(1), "a", "b")
    link.latency_ns, link.spread_ns = 1_000, 500
    delays = [link.arrival_ns(100) for _ in range(20_000)]
    ordinary = [delay for delay in delays if delay < 1_500]
    assert min(delays) >= 1_000
    assert max(delays) >= 50_000
    assert 0.995 < len(ordinary) / len(delays) < 1
    boring = Link(kernel, Tape(1, {}), "a", "b")
    assert {boring.arrival_ns(100) for _ in range(100)} == {boring.latency_ns}


def test_bytes_queue_for_a_narrow_link() -> None:
    link = Link(Kernel(), Tape(1, {}), "a", "b")
    link.latency_ns, link.bandwidth_bytes_per_s = 0, 1_000
    assert [link.arrival_ns(500) for _ in range(3)] == [500_000_000, 1_000_000_000, 1_500_000_000]


def test_loopback_is_fast_and_not_configured() -> None:
    links = Links(Kernel(), Tape(1), lambda link: setattr(link, "latency_ns", 5_000_000))
    assert links.between("a", "b").latency_ns == 5_000_000
    assert links.between("a", "a").latency_ns < 100_000
    assert links.between("a", "b") is links.between("a", "b")
    assert [str(link) for link in links.all()] == ["a>b", "a>a"]
