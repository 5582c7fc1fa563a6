"""SCRAM credentials: what a user is recognised by, for each mechanism (KIP-554, KIP-900).

Mechanisms are Kafka's numbers: 1 is SCRAM-SHA-256, 2 SCRAM-SHA-512.  Salt and keys are nobody's
business who reads a log or a traceback, so that a credential does not show them.

Fixed by Kafka's ScramDelta.java.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from barnabas.metadata.levels import SCRAM, Form
from barnabas.metadata.table import Table, by_text, changed, difference
from barnabas.model.value import value
from barnabas.wire.messages.stored.remove_user_scram_credential_record import (
    RemoveUserScramCredentialRecord,
)
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord
from barnabas.wire.structs import Message


class ScramUser(NamedTuple):
    """A user, by a mechanism."""

    mechanism: int
    name: str


def place(user: ScramUser) -> int:
    """Place a user by the name."""
    return by_text(user.name)


@value
class ScramCredential:
    """What a user is recognised by."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations}, the rest is secret)"


@value
class ScramImage:
    """The credentials."""

    credentials: Mapping[ScramUser, ScramCredential]

    @property
    def is_empty(self) -> bool:
        """Whether there is no credential."""
        return not self.credentials

    def records(self, form: Form) -> Iterator[tuple[Message, int]]:
        """Yield the credentials as records."""
        if self.credentials and form.level < SCRAM:
            form.lose("the SCRAM credentials of users")
            return
        for (mechanism, name), credential in self.credentials.items():
            yield form.versioned(
                UserScramCredentialRecord(
                    name=name,
                    mechanism=mechanism,
                    salt=credential.salt,
                    stored_key=credential.stored_key,
                    server_key=credential.server_key,
                    iterations=credential.iterations,
                )
            )


EMPTY: Final = ScramImage(Table(place))


class ScramDelta:
    """Credentials that are new or others; None for one that is gone."""

    def __init__(self, image: ScramImage) -> None:
        self.image = image
        self.credentials: dict[ScramUser, ScramCredential | None] = {}

    @staticmethod
    def between(image: ScramImage, later: ScramImage) -> "ScramDelta":
        """Return what leads from one image to another."""
        delta = ScramDelta(image)
        delta.credentials = difference(image.credentials, later.credentials)
        return delta

    def replay(self, record: UserScramCredentialRecord | RemoveUserScramCredentialRecord) -> None:
        """Set a credential, or remove one."""
        user = ScramUser(record.mechanism, record.name)
        match record:
            case UserScramCredentialRecord():
                self.credentials[user] = ScramCredential(
                    record.salt, record.stored_key, record.server_key, record.iterations
                )
            case RemoveUserScramCredentialRecord():
                self.credentials[user] = None

    def apply(self) -> ScramImage:
        """Return the credentials afterwards."""
        return ScramImage(changed(self.image.credentials, self.credentials))
