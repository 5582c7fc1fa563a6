"""Controllers on a simulated quorum: activation, duties, decisions of any size, resignation."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from barnabas.controller.config import ControllerConfig
from barnabas.controller.shell import Controller, Duty, PresenceShell
from barnabas.controller.state import BLANK, ControllerState
from barnabas.metadata.delta import Delta
from barnabas.metadata.image import EMPTY
from barnabas.metadata.publication import Publication, SnapshotManifest
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.runtime.runtime import Runtime
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.messages.stored.register_controller_record import RegisterControllerRecord
from barnabas.wire.structs import Message, Request, Response
from tests.raft.members import Member, Members, quorum_of
from tests.sim.worlds import run_in_world

LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=29)


def setting(name: str, text: str = "set") -> ConfigRecord:
    """Return a record that sets something for all brokers."""
    return ConfigRecord(resource_type=4, resource_name="", name=name, value=text)


def activate(state: ControllerState, in_transaction: bool) -> Decision[Message, None]:
    """Begin a cluster, or end what was left open."""
    if in_transaction:
        return Decision((AbortTransactionRecord(reason="the leader is gone"),), None)
    return Decision((LEVEL,) if state.image.is_empty else (), None)


def count(state: ControllerState, _: int) -> Decision[Message, bool]:
    """Count how often this was done, twice in a row if the number is even."""
    done = int(settings(state).get("count", "0")) + 1
    return Decision((setting("count", str(done)),), done % 2 == 1)


def settings(state: ControllerState) -> dict[str, str]:
    """Return what is set for all brokers."""
    return dict(state.image.configs.of(4, ""))


class Minds:
    """The controllers of a quorum, by host: those of the newest lives."""

    def __init__(self, *duties: Duty) -> None:
        self.of: dict[str, Controller] = {}
        self._duties = duties

    def attach(self, member: Member, runtime: Runtime) -> None:
        """Put a controller on a member's log."""
        config = ControllerConfig(member.config.key.id, idle_interval_ms=0)
        mind = Controller(runtime, member.quorum, config, activate, duties=self._duties)
        self.of[member.host] = mind
        member.quorum.listen(mind)

    def active(self, members: Members, but: str = "") -> Controller:
        """Return who decides, as soon as somebody does whose first decision is committed."""

        def found() -> bool:
            return any(each.is_active and each.states.committed.level == 29 for each in alive())

        def alive() -> Iterator[Controller]:
            hosts = [each.host for each in members.all if each.is_alive and each.host != but]
            return (self.of[host] for host in hosts if host in self.of)

        members.until(found)
        return next(each for each in alive() if each.is_active)


@contextmanager
def minds_of(count: int, *duties: Duty) -> Iterator[tuple[Members, Minds]]:
    """Yield a quorum with a controller on every member."""
    minds = Minds(*duties)
    with quorum_of(count, attach=minds.attach) as members:
        yield members, minds


def member_of(members: Members, mind: Controller) -> Member:
    """Return where a controller lives."""
    return next(each for each in members.all if each.config.key.id == mind.config.node_id)


def isolate(members: Members, member: Member) -> None:
    """Let nobody hear a member any more, and let it hear nobody."""
    links = members.world.fabric.links
    for other in members.all:
        if other is not member:
            links.between(member.host, other.host).cut()
            links.between(other.host, member.host).cut()


async def decide(_: Member, mind: Controller, *records: Message) -> str:
    """Let a controller decide something."""
    return await mind.submit(lambda state, offset: Decision(records, f"from {offset}"))


def test_a_new_cluster_begins_with_what_its_first_leader_decides() -> None:
    with minds_of(3) as (members, minds):
        minds.active(members)
        members.until(lambda: all(each.states.committed.level == 29 for each in minds.of.values()))
        # A second leader finds it done.
        first = minds.active(members)
        members.world.kill(member_of(members, first).host)
        second = minds.active(members, but=member_of(members, first).host)
        assert second is not first
        assert not settings(second.states.committed)


def test_a_decision_is_told_to_all_and_replied_to_after_its_commit() -> None:
    with minds_of(3) as (members, minds):
        mind = minds.active(members)
        job = member_of(members, mind).do(partial(decide, mind=mind))
        done = member_of(members, mind).do(lambda it: decide(it, mind, setting("a"), setting("b")))
        members.finish(job, done)
        assert str(done.result).startswith("from ")
        members.until(
            lambda: all(
                settings(each.states.committed) == {"a": "set", "b": "set"}
                for each in minds.of.values()
            )
        )


def test_what_was_not_committed_is_dropped_with_the_lead_and_refused() -> None:
    with minds_of(3) as (members, minds):
        mind = minds.active(members)
        member = member_of(members, mind)
        isolate(members, member)
        job = member.do(lambda it: decide(it, mind, setting("lost")))
        members.finish(job)
        assert job.refused is not None
        assert job.refused.code is ErrorCode.NOT_CONTROLLER
        assert settings(mind.states.pending) == {}
        assert not mind.is_active


def test_a_decision_that_fits_no_batch_becomes_visible_whole() -> None:
    with minds_of(3) as (members, minds):
        mind = minds.active(members)
        many = [setting(f"{number}", "x" * 30_000) for number in range(600)]
        job = member_of(members, mind).do(lambda it: decide(it, mind, *many))
        members.finish(job)
        assert job.refused is None
        members.until(
            lambda: all(len(settings(each.states.committed)) == 600 for each in minds.of.values())
        )


def test_a_transaction_that_a_leader_left_open_is_ended_by_the_next() -> None:
    with minds_of(3) as (members, minds):
        mind = minds.active(members)
        member = member_of(members, mind)
        opened = member.do(lambda it: decide(it, mind, BeginTransactionRecord(), setting("half")))
        members.finish(opened)
        members.world.kill(member.host)
        following = minds.active(members, but=member.host)
        after = member_of(members, following)
        job = after.do(lambda it: decide(it, following, setting("whole")))
        members.finish(job)
        members.until(lambda: settings(following.states.committed) == {"whole": "set"})


def test_duties_are_done_by_who_leads_and_by_nobody_else() -> None:
    with minds_of(3, Duty("count", 100, count)) as (members, minds):
        mind = minds.active(members)
        members.until(lambda: int(settings(mind.states.committed).get("count", "0")) >= 4)
        member = member_of(members, mind)
        isolate(members, member)
        members.until(lambda: not mind.is_active)
        stood = settings(mind.states.committed)
        members.world.run_until(lambda: False, 1_000)
        assert settings(mind.states.pending) == stood


class Leader:
    """Whoever leads, as far as registrations go; it fails as often as it is told to."""

    def __init__(self, failures: int) -> None:
        self.asked: list[Request] = []
        self._failures = failures

    async def ask(self, request: Request) -> Response:
        """Take a registration, or fail to."""
        self.asked.append(request)
        if len(self.asked) <= self._failures:
            raise ConnectionError("nobody is there")
        return ControllerRegistrationResponse(error_code=0)


def test_a_controller_registers_and_tries_again_until_somebody_takes_it() -> None:
    async def main(runtime: Runtime) -> None:
        leader = Leader(failures=2)
        request = ControllerRegistrationRequest(controller_id=1, incarnation_id=Uuid(bytes(16)))
        shell = PresenceShell(runtime, request, leader.ask)
        state = BLANK.apply([LEVEL])
        await shell.update(
            Publication(Delta(EMPTY), state.image, SnapshotManifest(state.image.provenance))
        )
        await runtime.clock.sleep_ms(1_000)
        assert leader.asked == [request] * 3
        record = RegisterControllerRecord(controller_id=1, incarnation_id=Uuid(bytes(16)))
        state = state.apply([record])
        await shell.update(
            Publication(Delta(EMPTY), state.image, SnapshotManifest(state.image.provenance))
        )
        assert shell.presence.is_registered
        await shell.close()

    run_in_world(main)
