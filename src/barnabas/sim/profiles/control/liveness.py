"""What a cluster owes when everything is whole again: CL-1 to CL-4, BL-1, BL-2.

    healed ──▶ somebody decides ──▶ all brokers serve ──▶ every partition is led, by whom it should
                    └──▶ an administrator's wish is granted

``debts`` says what is missing, each with the name of the property; as soon as nothing is, the
cluster is well.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from barnabas.broker.lifecycle import Running
from barnabas.broker.shell import Broker
from barnabas.metadata.image import MetadataImage
from barnabas.sim.profiles.control.drive import Heard
from barnabas.sim.profiles.control.states import Situation, partitions


class Cluster(Protocol):
    """What is asked of the scene."""

    def deciding(self) -> Sequence[Heard]:
        """Return the controllers alive that decide, the newest epoch last."""
        ...

    def broker_on(self, host: str) -> Broker | None:
        """Return the broker that runs on a host, if it has begun."""
        ...

    @property
    def situation(self) -> Situation:
        """What is committed."""
        ...


Debt = tuple[str, str]


def debts(cluster: Cluster, brokers: Sequence[str]) -> Iterator[Debt]:
    """Yield what is not yet as it has to be, and which property says so."""
    if len(cluster.deciding()) != 1:
        yield "RL-1", f"{len(cluster.deciding())} controllers decide"
    image = cluster.situation.image
    for host in brokers:
        broker = cluster.broker_on(host)
        if broker is None:
            yield "BL-1", f"nothing runs on {host}"
            continue
        state, epoch = broker.lifecycle.state, broker.epoch
        known = image.cluster.brokers.get(broker.config.id)
        if not isinstance(state, Running):
            yield "BL-1", f"{broker} with epoch {epoch} is {state}, registered as {known}"
        elif known is None or known.epoch != epoch or known.fenced:
            yield "BL-2", f"{broker} with epoch {epoch} runs, registered as {known}"
    yield from unsettled(cluster.situation)


def unsettled(situation: Situation) -> Iterator[Debt]:
    """Yield which partitions are not led by whom they should be, or still move."""
    for topic, number, partition in partitions(situation.image):
        at = f"{topic.name}-{number}: {partition}"
        complete = partition.isr or partition.elr
        if not complete and situation.elr:
            complete = partition.last_known_elr
        if situation.allows_unclean(topic.name):
            complete = partition.replicas
        able = [each for each in complete if situation.may_lead(each, partition)]
        if partition.leader < 0 and able:
            yield "CL-1", f"nobody leads, and {able} could, {at}"
        if partition.leader >= 0 and all(situation.is_active(each) for each in partition.replicas):
            if set(partition.isr) != set(partition.replicas):
                yield "PL-4", f"not all are in sync, {at}"
            elif partition.adding_replicas or partition.removing_replicas:
                if can_complete(situation, topic.name, partition.replicas):
                    yield "CL-3", f"still moves, {at}"
            elif partition.leader != partition.replicas[0]:
                yield "CL-4", f"the preferred replica does not lead, {at}"


def can_complete(situation: Situation, topic: str, replicas: Sequence[int]) -> bool:
    """Tell whether a reassignment can be completed at all: that needs enough to write."""
    return int(situation.config(topic, "min.insync.replicas", "1")) <= len(replicas)


def names(image: MetadataImage) -> dict[str, int]:
    """Return how many partitions each topic has."""
    return {topic.name: len(topic.stored) for topic in image.topics.topics.values()}
