"""Delegation tokens: who may act for whom, and until when (KIP-48, KIP-900).

The secret of a token is not here: every node computes it from the token's id.

Fixed by Kafka's DelegationTokenDelta.java and TokenInformation.java.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from barnabas.metadata.levels import DELEGATION_TOKENS, Form
from barnabas.metadata.table import Table, by_text, changed, difference
from barnabas.model.value import value
from barnabas.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from barnabas.wire.messages.stored.remove_delegation_token_record import (
    RemoveDelegationTokenRecord,
)
from barnabas.wire.structs import Message


@value
class DelegationToken:
    """What is known of a token; principals are spelled as Kafka does, ``User:alice``."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_ms: int
    max_ms: int
    expiration_ms: int


@value
class DelegationTokensImage:
    """The tokens, by id."""

    tokens: Mapping[str, DelegationToken]

    @property
    def is_empty(self) -> bool:
        """Whether there is no token."""
        return not self.tokens

    def records(self, form: Form) -> Iterator[tuple[Message, int]]:
        """Yield the tokens as records."""
        if self.tokens and form.level < DELEGATION_TOKENS:
            form.lose("the delegation tokens")
            return
        for token_id, token in self.tokens.items():
            yield form.versioned(
                DelegationTokenRecord(
                    owner=token.owner,
                    requester=token.requester,
                    renewers=token.renewers,
                    issue_timestamp=token.issue_ms,
                    max_timestamp=token.max_ms,
                    expiration_timestamp=token.expiration_ms,
                    token_id=token_id,
                )
            )


EMPTY: Final = DelegationTokensImage(Table(by_text))


class DelegationTokensDelta:
    """Tokens that are new or others; None for one that is gone."""

    def __init__(self, image: DelegationTokensImage) -> None:
        self.image = image
        self.tokens: dict[str, DelegationToken | None] = {}

    @staticmethod
    def between(
        image: DelegationTokensImage, later: DelegationTokensImage
    ) -> "DelegationTokensDelta":
        """Return what leads from one image to another."""
        delta = DelegationTokensDelta(image)
        delta.tokens = difference(image.tokens, later.tokens)
        return delta

    def replay(self, record: DelegationTokenRecord | RemoveDelegationTokenRecord) -> None:
        """Take a token, or remove one."""
        match record:
            case DelegationTokenRecord():
                self.tokens[record.token_id] = DelegationToken(
                    record.owner,
                    record.requester,
                    tuple(record.renewers),
                    record.issue_timestamp,
                    record.max_timestamp,
                    record.expiration_timestamp,
                )
            case RemoveDelegationTokenRecord(token_id=token_id):
                self.tokens[token_id] = None

    def apply(self) -> DelegationTokensImage:
        """Return the tokens afterwards."""
        return DelegationTokensImage(changed(self.image.tokens, self.tokens))
