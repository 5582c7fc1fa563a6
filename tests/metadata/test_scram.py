"""SCRAM credentials: by mechanism and user, and never shown."""

from barnabas.metadata.levels import Form
from barnabas.metadata.scram import EMPTY, ScramCredential, ScramDelta, ScramImage, ScramUser
from barnabas.wire.messages.stored.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord


def credential(name: str, mechanism: int, salt: bytes = b"salt") -> UserScramCredentialRecord:
    """Return a credential."""
    return UserScramCredentialRecord(
        name=name,
        mechanism=mechanism,
        salt=salt,
        stored_key=b"stored",
        server_key=b"server",
        iterations=4096,
    )


def after(
    *records: UserScramCredentialRecord | RemoveUserScramCredentialRecord,
    image: ScramImage = EMPTY,
) -> ScramImage:
    """Return the image after some records."""
    delta = ScramDelta(image)
    for record in records:
        delta.replay(record)
    return delta.apply()


def test_a_user_has_a_credential_for_each_mechanism() -> None:
    image = after(credential("alice", 1), credential("alice", 2, b"other"))
    assert image.credentials == {
        ScramUser(1, "alice"): ScramCredential(b"salt", b"stored", b"server", 4096),
        ScramUser(2, "alice"): ScramCredential(b"other", b"stored", b"server", 4096),
    }
    gone = after(RemoveUserScramCredentialRecord(name="alice", mechanism=1), image=image)
    assert list(gone.credentials) == [ScramUser(2, "alice")]


def test_a_credential_may_follow_the_removal_of_the_last_of_its_mechanism() -> None:
    # Kafka loses it if both come in one update.
    last = RemoveUserScramCredentialRecord(name="bob", mechanism=1)
    for records in ((last, credential("alice", 1)), (credential("alice", 1), last)):
        made = after(*records, image=after(credential("bob", 1)))
        assert list(made.credentials) == [ScramUser(1, "alice")]


def test_a_credential_that_is_not_there_may_be_removed() -> None:
    assert after(RemoveUserScramCredentialRecord(name="bob", mechanism=1)).is_empty


def test_secrets_are_not_shown() -> None:
    shown = repr(after(credential("alice", 1)))
    assert "alice" in shown
    assert "4096" in shown
    for secret in ("salt", "stored", "server"):
        assert secret not in shown


def test_a_level_without_scram_loses_the_credentials_and_says_so() -> None:
    lost: list[str] = []
    assert list(after(credential("alice", 1)).records(Form(10, lost.append))) == []
    assert list(EMPTY.records(Form(10, lost.append))) == []
    assert lost == ["the SCRAM credentials of users"]


def test_between_two_images_lies_every_credential_that_is_another() -> None:
    one = after(credential("alice", 1), credential("bob", 1))
    other = after(credential("alice", 1, b"new"))
    delta = ScramDelta.between(one, other)
    assert delta.credentials == {
        ScramUser(1, "bob"): None,
        ScramUser(1, "alice"): ScramCredential(b"new", b"stored", b"server", 4096),
    }
    assert delta.apply() == other
