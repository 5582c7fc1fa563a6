"""Histories of what operators ask: whatever the order, every state that comes of it is good.

Each history is a cluster at some level, and steps drawn from a seed: topics, configs, quotas,
rules, credentials, tokens, producer ids, levels of features, while brokers go and come.  After
every decision the oracles are asked, and these besides:

- what was decided can be written at the level in force, and so can a snapshot of it;
- what is asked again, because its answer was lost, leads to the same state (C-19);
- producer ids that were given rise and never overlap (C-18), and no topic's id comes back (C-15).
"""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from barnabas.controller import acls, configs, features, producer_ids, quotas, scram, tokens, topics
from barnabas.controller.brokers import fence
from barnabas.controller.config import ControllerConfig
from barnabas.controller.elections import came
from barnabas.controller.heartbeats import Life
from barnabas.controller.state import ControllerState
from barnabas.metadata.snapshot import values
from barnabas.model.caller import ANYBODY
from barnabas.model.features import ELIGIBLE_LEADER_REPLICAS_VERSION, METADATA_VERSION
from barnabas.model.ids import Uuid
from barnabas.sim.profiles.control.states import (
    Situation,
    Step,
    check_state,
    check_step,
    naive_index,
    told_index,
)
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.alter_client_quotas import AlterClientQuotasRequest
from barnabas.wire.messages.alter_configs import AlterConfigsRequest
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from barnabas.wire.messages.create_acls import CreateAclsRequest
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.delete_acls import DeleteAclsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from barnabas.wire.messages.update_features import UpdateFeaturesRequest
from barnabas.wire.metadata_records import decode_record
from barnabas.wire.structs import Message
from tests.controller.scene import broker, cluster, level, setting

SEEDS = range(60)
STEPS = 45
BROKERS = range(1, 6)
NAMES = ("a", "a.b", "a_b", "c", "d")
MIN_ISR = "min.insync.replicas"
CONFIG = ControllerConfig(
    9,
    default_replication_factor=2,
    static={
        "authorizer.class.name": "Standard",
        "delegation.token.secret.key": "key",
        MIN_ISR: "2",
    },
)
EVERYTHING = dict.fromkeys(("eligible.leader.replicas.version", "group.version"), (0, 99)) | {
    METADATA_VERSION: (7, 99)
}

Decide = Callable[[ControllerState], Decision[Message, Any]]


class History:
    """A cluster, and those who ask it for something."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        at = self.random.choice((7, 12, 14, 17, 22, 25, 30, 30, 30))
        racks = self.random.choice((None, "xy", "xyz"))
        records: list[Message] = [
            broker(
                number,
                racks[number % len(racks)] if racks else None,
                directories=[self.uuid() for _ in range(self.random.randint(1, 2))]
                if at >= 17
                else [],
                features=EVERYTHING,
            )
            for number in BROKERS
        ]
        if at >= 23 and self.random.random() < 0.5:
            records.append(level(1, ELIGIBLE_LEADER_REPLICAS_VERSION))
        self.state = cluster(*records, setting(4, "", MIN_ISR, "2"), at=at)
        self.seen: Counter[str] = Counter()
        self.topic_ids: set[Uuid] = set()
        self.blocks: list[tuple[int, int]] = []

    def uuid(self) -> Uuid:
        """Draw an id."""
        return Uuid(b"\1" + self.random.randbytes(15))

    def name(self) -> str:
        """Draw the name of a topic."""
        return self.random.choice(NAMES)

    def run(self) -> None:
        """Live through all steps."""
        asked = [
            self.create, self.create, self.delete, self.grow, self.configure, self.configure,
            self.overwrite, self.limit, self.permit, self.forbid, self.trust, self.tokens,
            self.ids, self.level, self.away, self.back, self.back,
        ]  # fmt: skip
        for _ in range(STEPS):
            self.random.choice(asked)()

    def decide(self, what: str, decide: Decide, again: bool = True) -> Any:  # noqa: ANN401 -- each request has its own answer
        """Decide, and look at what came of it."""
        before, decision = self.state, decide(self.state)
        for record in decision.records:
            assert decode_record(before.encode(record))[0] == record
        self.state = after = before.apply(decision.records)
        self.check(before, decision)
        if again:
            retried = decide(after)
            assert after.apply(retried.records).image == after.image, f"C-19: {what}"
        self.seen[f"{what}: {bool(decision.records)}"] += 1
        self.seen["somebody eligible"] += bool(after.index.eligible)
        self.seen["somewhere no leader"] += len(after.index.leaderless) > 0
        return decision.reply

    def check(self, before: ControllerState, decision: Decision[Message, Any]) -> None:
        """Ask the oracles."""
        after = self.state
        worlds = Situation(before.image, CONFIG.static), Situation(after.image, CONFIG.static)
        check_state(worlds[1])
        check_step(Step(*worlds, decision.records))
        assert told_index(after.index) == naive_index(after.image)
        # Whatever was decided, a snapshot can say it.
        assert list(values(after.image))
        gone = self.topic_ids - set(after.image.topics.topics)
        new = set(after.image.topics.topics) - set(before.image.topics.topics)
        assert not gone & new, "C-15: an id came back"
        self.topic_ids |= new

    # --- Topics ---

    def create(self) -> None:
        """Ask for topics."""
        names = [self.name() for _ in range(self.random.randint(1, 3))]
        request = CreateTopicsRequest(
            topics=[
                CreateTopicsRequest.CreatableTopic(
                    name=name,
                    num_partitions=self.random.randint(1, 3),
                    replication_factor=self.random.choice((-1, 1, 3, 6)),
                    configs=[
                        CreateTopicsRequest.CreatableTopicConfig(
                            name=MIN_ISR, value=str(self.random.randint(1, 3))
                        )
                    ]
                    if self.random.random() < 0.3
                    else [],
                )
                for name in names
            ]
        )
        drawn, number = [self.uuid() for _ in names], self.random.getrandbits(31)
        self.decide(
            "create", lambda state: topics.create(state, CONFIG, request, ANYBODY, drawn, number)
        )

    def delete(self) -> None:
        """Ask for topics to go."""
        wanted: list[DeleteTopicsRequest.DeleteTopicState] = []
        for _ in range(self.random.randint(1, 2)):
            known = self.state.image.topics.names.get(self.name())
            if known is not None and self.random.random() < 0.5:
                wanted.append(DeleteTopicsRequest.DeleteTopicState(topic_id=known))
            else:
                wanted.append(DeleteTopicsRequest.DeleteTopicState(name=self.name()))
        request = DeleteTopicsRequest(topics=wanted)
        self.decide("delete", lambda state: topics.delete(state, CONFIG, request, 6, ANYBODY))

    def grow(self) -> None:
        """Ask for more partitions."""
        one = CreatePartitionsRequest.CreatePartitionsTopic(
            name=self.name(), count=self.random.randint(1, 5), assignments=None
        )
        request, number = CreatePartitionsRequest(topics=[one]), self.random.getrandbits(31)
        self.decide("grow", lambda state: topics.grow(state, request, ANYBODY, number))

    # --- Configs ---

    def configure(self) -> None:
        """Ask for a config to change."""
        kind, name = self.random.choice(((2, self.name()), (4, ""), (4, "1"), (32, "g")))
        config, text = self.random.choice(
            ((MIN_ISR, str(self.random.randint(1, 3))), ("cleanup.policy", "compact"),
             ("share.isolation.level", "read_committed"), ("log.cleaner.threads", "2"))
        )  # fmt: skip
        what = self.random.randint(0, 3)
        one = IncrementalAlterConfigsRequest.AlterableConfig(
            name=config, config_operation=what, value=None if what == 1 else text
        )
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
            resource_type=kind, resource_name=name, configs=[one]
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        self.decide("configure", lambda state: configs.alter(state, CONFIG, request, ANYBODY))

    def overwrite(self) -> None:
        """Ask for all configs of a topic."""
        texts = self.random.choice(({}, {MIN_ISR: "1"}, {MIN_ISR: "3", "segment.ms": "5"}))
        resource = AlterConfigsRequest.AlterConfigsResource(
            resource_type=2,
            resource_name=self.name(),
            configs=[
                AlterConfigsRequest.AlterableConfig(name=name, value=text)
                for name, text in texts.items()
            ],
        )
        request = AlterConfigsRequest(resources=[resource])
        self.decide("overwrite", lambda state: configs.overwrite(state, CONFIG, request, ANYBODY))

    # --- The rest ---

    def limit(self) -> None:
        """Ask for a quota."""
        user = AlterClientQuotasRequest.EntityData(
            entity_type="user", entity_name=self.random.choice((None, "alice"))
        )
        limit = AlterClientQuotasRequest.OpData(
            key="producer_byte_rate",
            value=float(self.random.randint(0, 2)),
            remove=self.random.random() < 0.3,
        )
        entry = AlterClientQuotasRequest.EntryData(entity=[user], ops=[limit])
        request = AlterClientQuotasRequest(entries=[entry])
        self.decide("limit", lambda state: quotas.alter(state, request, ANYBODY))

    def permit(self) -> None:
        """Ask for a rule."""
        rule = CreateAclsRequest.AclCreation(
            resource_type=2, resource_name=self.name(), principal="User:alice", host="*",
            operation=self.random.randint(1, 4), permission_type=3,
        )  # fmt: skip
        request, ids = CreateAclsRequest(creations=[rule]), [self.uuid()]
        self.decide("permit", lambda state: acls.create(state, CONFIG, request, ANYBODY, ids))

    def forbid(self) -> None:
        """Ask for rules to go."""
        taking = DeleteAclsRequest.DeleteAclsFilter(
            resource_type_filter=1, resource_name_filter=self.name(), pattern_type_filter=1,
            principal_filter=None, host_filter=None, operation=1, permission_type=1,
        )  # fmt: skip
        request = DeleteAclsRequest(filters=[taking])
        self.decide("forbid", lambda state: acls.delete(state, CONFIG, request, ANYBODY))

    def trust(self) -> None:
        """Ask for a credential, or for one to go."""
        name = self.random.choice(("alice", "bob"))
        if self.random.random() < 0.5:
            gone = AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=name, mechanism=1)
            request = AlterUserScramCredentialsRequest(deletions=[gone])
        else:
            new = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
                name=name, mechanism=1, iterations=4096, salt=b"s", salted_password=b"p"
            )
            request = AlterUserScramCredentialsRequest(upsertions=[new])
        self.decide("trust", lambda state: scram.alter(state, request, ANYBODY))

    def tokens(self) -> None:
        """Ask for a token, or let time pass."""
        drawn, wall_ms = self.uuid(), self.random.randint(0, 10**9)
        request = CreateDelegationTokenRequest(max_lifetime_ms=-1)
        if self.random.random() < 0.5:
            self.decide("sweep", lambda state: tokens.sweep(state, wall_ms))
        else:
            self.decide(
                "token",
                lambda state: tokens.create(state, CONFIG, request, ANYBODY, drawn, wall_ms),
            )

    def ids(self) -> None:
        """Ask for producer ids."""
        number = self.random.choice(BROKERS)
        request = AllocateProducerIdsRequest(broker_id=number, broker_epoch=100 + number)
        reply = self.decide(
            "ids", lambda state: producer_ids.allocate(state, request, ANYBODY), again=False
        )
        start, length = reply.producer_id_start, reply.producer_id_len
        if self.blocks:
            assert start >= sum(self.blocks[-1]), "C-18: given before"
        self.blocks.append((start, length))

    def level(self) -> None:
        """Ask for another level."""
        elr = self.random.random() < 0.6
        now = self.state.level
        wanted = UpdateFeaturesRequest.FeatureUpdateKey(
            feature=ELIGIBLE_LEADER_REPLICAS_VERSION if elr else METADATA_VERSION,
            max_version_level=self.random.randint(0, 1) if elr else now + self.random.randint(0, 3),
            upgrade_type=self.random.choice((1, 1, 2)),
        )
        request = UpdateFeaturesRequest(feature_updates=[wanted])
        quorum = features.QuorumFacts(kraft_version=0, voters=(9,))
        self.decide("level", lambda state: features.update(state, CONFIG, quorum, request, ANYBODY))

    # --- Brokers that go and come ---

    def away(self) -> None:
        """Let a broker be fenced."""
        life = Life(self.random.choice(BROKERS), 0)
        life = Life(life.broker, 100 + life.broker)
        self.decide("away", lambda state: fence(state, CONFIG, life))

    def back(self) -> None:
        """Let a broker be unfenced."""
        number = self.random.choice(BROKERS)

        def unfence(state: ControllerState) -> Decision[Message, None]:
            if not state.image.cluster.brokers[number].fenced:
                return Decision((), None)
            change = BrokerRegistrationChangeRecord(
                broker_id=number, broker_epoch=100 + number, fenced=-1
            )
            return Decision((change, *came(state.apply([change]), CONFIG, number)), None)

        self.decide("back", unfence)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_state_that_operators_bring_about_is_a_good_one(seed: int) -> None:
    History(seed).run()


def test_the_histories_are_worth_reading() -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        history = History(seed)
        history.run()
        seen += history.seen
    often = {what for what, count in seen.items() if count > 5}
    changing = {what.partition(":")[0] for what in often if what.endswith("True")}
    refused = {what.partition(":")[0] for what, count in seen.items() if what.endswith("False")}
    assert changing >= {
        "create", "delete", "grow", "configure", "overwrite", "limit", "permit", "forbid", "trust",
        "token", "sweep", "ids", "level", "away", "back",
    }  # fmt: skip
    assert refused >= {"create", "delete", "grow", "configure", "level"}
    assert {"somebody eligible", "somewhere no leader"} <= often
