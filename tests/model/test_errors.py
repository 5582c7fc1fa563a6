"""Kafka's table of codes, and the kinds of failure."""

from barnabas.model.errors import (
    CorruptLog,
    ErrorCode,
    LocalProtocolError,
    ProtocolError,
    Refused,
    RemoteProtocolError,
    UnsupportedVersionError,
)


def test_codes_are_the_numbers_from_minus_1_without_a_gap() -> None:
    assert [int(code) for code in ErrorCode] == list(range(-1, 134))


def test_codes_are_numbers_with_kafkas_names() -> None:
    assert ErrorCode(35) is ErrorCode.UNSUPPORTED_VERSION
    assert int(ErrorCode.UNSUPPORTED_VERSION) == 35
    assert int(ErrorCode.SHARE_SESSION_LIMIT_REACHED) == 133


def test_some_codes_are_worth_trying_again() -> None:
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert not ErrorCode.TOPIC_AUTHORIZATION_FAILED.retriable
    assert not ErrorCode.NONE.retriable
    # Counted in Kafka 4.3.1, where trying again is a kind of exception.
    assert sum(code.retriable for code in ErrorCode) == 32


def test_every_code_says_what_it_means_in_words_of_its_own() -> None:
    words = [code.words for code in ErrorCode]
    assert all(words)
    assert len(set(words)) == len(words)


def test_a_refusal_says_the_code_and_why() -> None:
    refusal = Refused(ErrorCode.TOPIC_ALREADY_EXISTS, "topic 't' exists")
    assert refusal.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert str(refusal) == "TOPIC_ALREADY_EXISTS: topic 't' exists"
    assert Refused(ErrorCode.NOT_CONTROLLER).why == "another node is the active controller"


def test_protocol_errors_say_whose_fault_it_is() -> None:
    assert issubclass(RemoteProtocolError, ProtocolError)
    assert issubclass(LocalProtocolError, ProtocolError)
    assert issubclass(UnsupportedVersionError, LocalProtocolError)
    assert not issubclass(LocalProtocolError, RemoteProtocolError)


def test_a_corrupt_log_says_where() -> None:
    assert CorruptLog("segment 0 at 17").why == "segment 0 at 17"
