"""A broker's shell against a controller that does as it is told, over a simulated network."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from barnabas.broker.assignments import Answered, Failed, Replica
from barnabas.broker.config import BrokerConfig
from barnabas.broker.lifecycle import (
    Denied,
    PendingControlledShutdown,
    Recovery,
    Register,
    Running,
    ShuttingDown,
    Starting,
)
from barnabas.broker.shell import (
    Broker,
    BrokerFailed,
    assignments_event,
    event_of,
    registration,
)
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.runtime.network import Address
from barnabas.runtime.runtime import Runtime
from barnabas.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from barnabas.wire.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from tests.broker.kit import CONFIG, OURS, A, B, uuid
from tests.broker.scripted import Script
from tests.broker.test_assignments import TOPIC
from tests.broker.test_assignments import image as topic_image
from tests.sim.worlds import run_in_world

HERE = Address("here", 9093)

Test = Callable[[Runtime, Script, Broker], Coroutine[Any, Any, None]]


def run(test: Test, config: BrokerConfig = CONFIG) -> None:
    """Run a test on a broker that knows where its controller is, and is told of the metadata."""

    async def main(runtime: Runtime) -> None:
        script = Script()
        server = await script.serve(runtime, "here")
        broker = Broker(runtime, config, lambda: HERE)
        teller = asyncio.ensure_future(script.keep_telling(runtime, broker))
        await test(runtime, script, broker)
        teller.cancel()
        await broker.stop()
        await server.close()

    run_in_world(main)


def state_of(broker: Broker) -> type:
    """Return what a broker is."""
    return type(broker.lifecycle.state)


async def run_up(broker: Broker) -> None:
    """Bring a broker up to where it serves."""
    broker.start()
    assert await broker.caught_up()
    assert state_of(broker) is Recovery
    broker.storage_ready()
    assert await broker.unfenced()


def test_a_broker_comes_up_beats_and_leaves() -> None:
    async def told(runtime: Runtime, script: Script, broker: Broker) -> None:
        await run_up(broker)
        assert state_of(broker) is Running
        registered = script.controller.registration
        assert registered is not None
        assert (registered.epoch, registered.fenced) == (broker.epoch, False)
        beats = len(script.asked)
        await runtime.clock.sleep_ms(10_000)
        assert len(script.asked) - beats == 5
        script.controller.is_led = True
        leaving = asyncio.ensure_future(broker.stop())
        await runtime.clock.sleep_ms(5_000)
        assert state_of(broker) is PendingControlledShutdown
        assert not leaving.done()
        script.controller.is_led = False
        await leaving
        await broker.ended()
        assert state_of(broker) is ShuttingDown

    run(told)


def test_a_registration_says_who_the_broker_is() -> None:
    async def told(_: Runtime, script: Script, broker: Broker) -> None:
        await run_up(broker)
        request = script.asked[0]
        assert isinstance(request, BrokerRegistrationRequest)
        assert (request.broker_id, request.cluster_id, request.rack) == (3, "the-cluster", "r1")
        assert request.previous_broker_epoch == 41
        assert tuple(request.log_dirs) == (A, B)
        assert not request.is_migrating_zk_broker
        assert [(at.name, at.host, at.port) for at in request.listeners] == [
            ("PLAINTEXT", "here", 9092)
        ]
        levels = {
            each.name: (each.min_supported_version, each.max_supported_version)
            for each in request.features
        }
        assert levels["metadata.version"] == (7, 30)
        assert levels["kraft.version"] == (0, 1)

    run(told, replace(CONFIG, rack="r1", previous_epoch=41))


def test_an_old_controller_is_not_told_of_features_that_may_be_at_level_zero() -> None:
    asked = Register(OURS, -1, (A,))
    assert len(registration(CONFIG, asked, 4).features) == 7
    assert [each.name for each in registration(CONFIG, asked, 3).features] == ["metadata.version"]


def test_two_lives_are_two_incarnations() -> None:
    seen: list[Uuid] = []

    async def told(_: Runtime, script: Script, broker: Broker) -> None:
        await run_up(broker)
        seen.extend(script.controller.epochs)

    for _ in range(2):
        run(told)

    async def both(runtime: Runtime) -> None:
        brokers = [Broker(runtime, CONFIG, lambda: HERE) for _ in range(2)]
        assert brokers[0].lifecycle.standing != brokers[1].lifecycle.standing

    run_in_world(both)
    assert len(seen) == 2


def test_a_controller_that_does_not_answer_is_asked_again_with_one_request_at_a_time() -> None:
    async def told(runtime: Runtime, script: Script, broker: Broker) -> None:
        script.is_silent = True
        broker.start()
        await runtime.clock.sleep_ms(7_000)
        assert state_of(broker) is Starting
        script.is_silent = False
        assert await broker.caught_up()
        assert len(script.controller.epochs) == 1

    run(told)


def test_a_broker_looks_for_the_controller_anew_each_time() -> None:
    async def main(runtime: Runtime) -> None:
        places: list[Address | str] = ["nobody leads"]
        first, second = Script(), Script()
        first.error = ErrorCode.NOT_CONTROLLER
        servers = [await first.serve(runtime, "here", 1), await second.serve(runtime, "here", 2)]
        broker = Broker(runtime, CONFIG, lambda: places[0])
        teller = asyncio.ensure_future(second.keep_telling(runtime, broker))
        broker.start()
        await runtime.clock.sleep_ms(500)
        places[0] = Address("here", 1)
        await runtime.clock.sleep_ms(500)
        assert first.asked
        places[0] = Address("here", 2)
        assert await broker.caught_up()
        teller.cancel()
        await broker.stop()
        for server in servers:
            await server.close()

    run_in_world(main)


def test_a_broker_that_cannot_register_ends_with_the_reason_and_not_before_its_time() -> None:
    async def told(runtime: Runtime, script: Script, broker: Broker) -> None:
        script.error = ErrorCode.INCONSISTENT_CLUSTER_ID
        begun_ms = runtime.clock.now_ms()
        broker.start()
        with pytest.raises(BrokerFailed, match=r"INCONSISTENT_CLUSTER_ID.*cluster the-cluster"):
            await broker.ended()
        assert 60_000 <= runtime.clock.now_ms() - begun_ms < 60_100
        assert not await broker.caught_up()
        assert not await broker.unfenced()

    run(told)


def test_a_broker_that_is_unregistered_comes_back_under_another_epoch() -> None:
    async def told(runtime: Runtime, script: Script, broker: Broker) -> None:
        await run_up(broker)
        first = broker.epoch
        script.controller.has_session = False
        script.controller.write(None)
        await runtime.clock.sleep_ms(3_000)
        registered = script.controller.registration
        assert registered is not None
        assert not registered.fenced
        assert broker.epoch == registered.epoch != first
        assert [len(epochs) for epochs in script.controller.epochs.values()] == [1, 1]

    run(told)


def test_a_failed_directory_is_in_every_heartbeat_from_then_on() -> None:
    async def told(runtime: Runtime, script: Script, broker: Broker) -> None:
        await run_up(broker)
        broker.directory_failed(B)
        await runtime.clock.sleep_ms(5_000)
        beats = [each for each in script.asked if isinstance(each, BrokerHeartbeatRequest)]
        assert [list(beat.offline_log_dirs) for beat in beats[-3:]] == [[B]] * 3
        assert list(beats[-1].cordoned_log_dirs or ()) == []

    run(told)


def test_replicas_are_told_beside_the_heartbeats() -> None:
    async def told(runtime: Runtime, script: Script, broker: Broker) -> None:
        await run_up(broker)
        script.topics = topic_image(10).topics
        script.controller.write(script.controller.registration)
        await runtime.clock.sleep_ms(20)
        for number in (1, 2):
            broker.assigned(Replica(TOPIC, number), A)
        broker.assigned(Replica(TOPIC, 3), B)
        script.error = ErrorCode.STALE_BROKER_EPOCH
        await runtime.clock.sleep_ms(150)
        assert broker.assignments.failures == 1
        script.error = ErrorCode.NONE
        await runtime.clock.sleep_ms(5_000)
        assert broker.assignments.pending == 0
        requests = [each for each in script.asked if isinstance(each, AssignReplicasToDirsRequest)]
        assert len(requests) == 2
        assert requests[1].broker_epoch == broker.epoch
        assert {directory.id for directory in requests[1].directories} == {A, B}

    run(told)


def test_what_a_later_controller_answers_is_an_error_like_any_other() -> None:
    assert event_of(BrokerHeartbeatResponse(error_code=9_999)) == Denied(
        ErrorCode.UNKNOWN_SERVER_ERROR
    )
    refused = AssignReplicasToDirsResponse(error_code=9_999)
    assert assignments_event(refused) == Failed("the controller refuses: UNKNOWN_SERVER_ERROR")
    assert assignments_event(AssignReplicasToDirsResponse()) == Answered({})


def test_a_broken_machine_keeps_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    async def told(_: Runtime, __: Script, broker: Broker) -> None:
        broker.start()
        with pytest.raises(AssertionError, match="is not ours") as bug:
            broker.directory_failed(uuid("x"))
        assert "ms: Started() → [Became(state=Starting()), Register(" in bug.value.__notes__[0]
        assert not await broker.caught_up()
        await broker.ended()

    with caplog.at_level(logging.INFO):
        run(told)
    assert "[broker 3] became Starting epoch=None" in caplog.text


def test_a_broker_that_never_began_stops_like_any_other() -> None:
    async def told(_: Runtime, script: Script, broker: Broker) -> None:
        await broker.stop()
        assert not script.asked

    run(told)
