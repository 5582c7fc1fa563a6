"""How a replica and an answer show themselves in a trace."""

from dataclasses import replace

from barnabas.sim.specs.replication.cluster import Diverging, FetchAnswer, Role, Unserved, View
from barnabas.sim.specs.replication.log import Log
from barnabas.sim.specs.replication.trace import Facts, facts_of, summary
from tests.sim.specs.replication.clusters import broker, ids

ALL = ids(1, 2, 3)


def test_a_replica_shows_what_a_probe_sees() -> None:
    log = Log().append(1, 0, 3)
    shown = facts_of(broker(2, log=log, hwm=2))
    assert shown == Facts(Role.FOLLOWER, 1, 1, ALL, ALL, 3, 1, 2)
    gone = facts_of(broker(3, role=Role.NONE, view=View()))
    assert gone == Facts(Role.NONE, 0, 0, ids(), ids(), 0, 0, 0)


def test_records_are_told_by_their_number() -> None:
    log = Log().append(1, 0, 3).append(2, 0)
    answer = FetchAnswer(1, 2, 1, 1, 0, log.records(1, 4))
    assert summary(answer) == 3
    assert summary(replace(answer, content=())) == 0
    assert summary(replace(answer, content=Diverging(1, 2))) == Diverging(1, 2)
    assert summary(replace(answer, content=Unserved.OLD_LIFE)) is Unserved.OLD_LIFE
