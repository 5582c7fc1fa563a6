"""Delegation tokens: made, renewed, removed."""

from barnabas.metadata.levels import Form
from barnabas.metadata.tokens import (
    EMPTY,
    DelegationToken,
    DelegationTokensDelta,
    DelegationTokensImage,
)
from barnabas.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from barnabas.wire.messages.stored.remove_delegation_token_record import (
    RemoveDelegationTokenRecord,
)


def token(token_id: str, expiration: int) -> DelegationTokenRecord:
    """Return a token."""
    return DelegationTokenRecord(
        owner="User:alice",
        requester="User:bob",
        renewers=["User:carol"],
        issue_timestamp=1,
        max_timestamp=9,
        expiration_timestamp=expiration,
        token_id=token_id,
    )


def after(
    *records: DelegationTokenRecord | RemoveDelegationTokenRecord,
    image: DelegationTokensImage = EMPTY,
) -> DelegationTokensImage:
    """Return the image after some records."""
    delta = DelegationTokensDelta(image)
    for record in records:
        delta.replay(record)
    return delta.apply()


def test_a_token_is_made_renewed_and_removed() -> None:
    image = after(token("t", 5), token("u", 5))
    made = DelegationToken("User:alice", "User:bob", ("User:carol",), 1, 9, 5)
    assert image.tokens == {"t": made, "u": made}
    image = after(token("t", 7), RemoveDelegationTokenRecord(token_id="u"), image=image)
    assert {name: each.expiration_ms for name, each in image.tokens.items()} == {"t": 7}


def test_a_token_that_is_not_there_may_be_removed() -> None:
    assert after(RemoveDelegationTokenRecord(token_id="t")).is_empty


def test_a_level_without_tokens_loses_them_and_says_so() -> None:
    lost: list[str] = []
    assert list(after(token("t", 5)).records(Form(13, lost.append))) == []
    assert lost == ["the delegation tokens"]


def test_between_two_images_lies_every_token_that_is_another() -> None:
    one, other = after(token("t", 5), token("u", 5)), after(token("u", 6))
    delta = DelegationTokensDelta.between(one, other)
    assert delta.tokens == {"t": None, "u": other.tokens["u"]}
    assert delta.apply() == other
