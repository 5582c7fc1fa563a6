"""A state log decides on what is pending and replies with what is committed."""

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest

from barnabas.model.errors import ErrorCode, Refused
from barnabas.statelog.decision import Decision
from barnabas.statelog.shell import StateLog
from tests.statelog.topics import Topics, create

EPOCH = 3


class HandLog:
    """A log that commits, and loses its leader, when a test says so."""

    def __init__(self) -> None:
        self.batches: list[Sequence[bytes]] = []
        self.leads = True
        self.committed_offset = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    @property
    def end_offset(self) -> int:
        """Everything that was appended."""
        return sum(len(batch) for batch in self.batches)

    def append(self, epoch: int, values: Sequence[bytes]) -> int:
        """Append, or refuse as somebody who does not lead."""
        if not self.leads or epoch != EPOCH:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, "not the leader")
        if sum(map(len, values)) > 100:
            raise Refused(ErrorCode.RECORD_LIST_TOO_LARGE, "too large")
        self.batches.append(values)
        return self.end_offset

    async def committed(self, epoch: int, end_offset: int) -> None:
        """Wait for a test to commit."""
        if self.leads and self.committed_offset >= end_offset:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((end_offset, waiting))
        await waiting

    def commit(self, offset: int) -> None:
        """Commit everything below an offset."""
        self.committed_offset = offset
        for end_offset, waiting in self._waiting:
            if end_offset <= offset and not waiting.done():
                waiting.set_result(None)

    def lose(self) -> None:
        """Lead no longer."""
        self.leads = False
        for _, waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, "lost"))


def leading(log: HandLog, state: Topics | None = None) -> StateLog[Topics, str]:
    states: StateLog[Topics, str] = StateLog(log, state or Topics(), str.encode)
    states.on_claimed(EPOCH)
    return states


def test_a_reply_waits_for_the_commit() -> None:
    async def story() -> None:
        log = HandLog()
        states = leading(log)
        created = asyncio.ensure_future(states.submit(partial(create, "t")))
        await asyncio.sleep(0)
        assert not created.done()
        assert (states.pending.names, states.committed.names) == (("t",), ())
        log.commit(1)
        assert await created == "NONE"

    asyncio.run(story())


def test_a_refusal_waits_for_the_record_it_rests_on() -> None:
    async def story() -> None:
        log = HandLog()
        states = leading(log)
        first = asyncio.ensure_future(states.submit(partial(create, "t")))
        second = asyncio.ensure_future(states.submit(partial(create, "t")))
        await asyncio.sleep(0)
        assert not second.done()
        log.commit(1)
        assert (await first, await second) == ("NONE", "TOPIC_ALREADY_EXISTS")

    asyncio.run(story())


def test_records_of_one_decision_are_one_batch() -> None:
    async def story() -> None:
        log = HandLog()
        states = leading(log)
        both = Decision(("a", "b"), "NONE")
        reply = asyncio.ensure_future(states.submit(lambda topics, offset: both))
        await asyncio.sleep(0)
        log.commit(2)
        assert await reply == "NONE"
        assert log.batches == [[b"a", b"b"]]

    asyncio.run(story())


def test_what_was_never_committed_is_forgotten_and_refused() -> None:
    async def story() -> None:
        log = HandLog()
        states = leading(log, Topics(("old",)))
        created = asyncio.ensure_future(states.submit(partial(create, "t")))
        await asyncio.sleep(0)
        log.lose()
        with pytest.raises(Refused, match="NOT_CONTROLLER"):
            await created
        states.on_resigned()
        assert states.pending == states.committed == Topics(("old",))

    asyncio.run(story())


def test_who_does_not_lead_decides_nothing() -> None:
    async def story() -> None:
        states: StateLog[Topics, str] = StateLog(HandLog(), Topics(), str.encode)
        with pytest.raises(Refused) as refused:
            await states.submit(partial(create, "t"))
        assert refused.value.code is ErrorCode.NOT_CONTROLLER

    asyncio.run(story())


def test_an_append_that_is_refused_leaves_the_state_as_it_was() -> None:
    async def story() -> None:
        states = leading(HandLog())
        with pytest.raises(Refused) as refused:
            await states.submit(partial(create, "x" * 101))
        assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
        assert states.pending == Topics()

    asyncio.run(story())


def test_a_leader_that_was_deposed_and_not_told_yet_is_refused_and_keeps_its_state() -> None:
    async def story() -> None:
        log = HandLog()
        states = leading(log)
        log.lose()
        with pytest.raises(Refused) as refused:
            await states.submit(partial(create, "t"))
        assert refused.value.code is ErrorCode.NOT_CONTROLLER
        assert states.pending == Topics()

    asyncio.run(story())


def test_what_decides_is_told_where_its_first_record_will_stand() -> None:
    async def story() -> None:
        log = HandLog()
        states = leading(log)
        told: list[int] = []

        def both(_: Topics, offset: int) -> Decision[str, str]:
            told.append(offset)
            return Decision((f"{offset}", f"{offset + 1}"), "NONE")

        replies = [asyncio.ensure_future(states.submit(both)) for _ in range(2)]
        await asyncio.sleep(0)
        log.commit(4)
        assert [await reply for reply in replies] == ["NONE", "NONE"]
        assert told == [0, 2]

    asyncio.run(story())


def test_a_state_that_somebody_else_folds_is_taken_as_it_is() -> None:
    states = leading(HandLog())
    states.on_folded(Topics(("a",)))
    assert (states.committed.names, states.pending.names) == (("a",), ())
    states.on_resigned()
    assert states.pending == states.committed


def test_followers_fold_what_is_committed() -> None:
    states: StateLog[Topics, str] = StateLog(HandLog(), Topics(), str.encode)
    states.on_committed(["a", "b"])
    assert states.committed == states.pending == Topics(("a", "b"))


def test_a_snapshot_takes_the_place_of_everything_before() -> None:
    states: StateLog[Topics, str] = StateLog(HandLog(), Topics(("gone",)), str.encode)
    states.on_loaded(Topics(("a",)))
    assert states.committed == states.pending == Topics(("a",))


def test_a_leader_keeps_what_runs_ahead_while_commits_come_in() -> None:
    async def story() -> None:
        log = HandLog()
        states = leading(log)
        replies = [
            asyncio.ensure_future(states.submit(partial(create, name))) for name in ("a", "b")
        ]
        await asyncio.sleep(0)
        states.on_committed(["a"])
        assert (states.committed.names, states.pending.names) == (("a",), ("a", "b"))
        log.commit(2)
        assert [await reply for reply in replies] == ["NONE", "NONE"]

    asyncio.run(story())
