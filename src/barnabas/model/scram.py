"""SCRAM mechanisms: what proves a password without being one (RFC 5802).

A server keeps of a password, salted and hashed many times over, the hash of a key that a client
makes of it, and the key by which the server shows that it has that hash.

Fixed by Kafka's ScramMechanism.java and ScramFormatter.java.
"""

import hashlib
import hmac
from typing import Final

from barnabas.model.value import value


@value
class Mechanism:
    """A way to prove a password."""

    name: str
    type: int
    algorithm: str
    iterations_min: int = 4096
    iterations_max: int = 16384

    @property
    def constant(self) -> str:
        """What Kafka calls it in its messages."""
        return self.name.replace("-", "_")

    def stored_key(self, salted_password: bytes) -> bytes:
        """Return by what the server recognises a client."""
        client_key = hmac.digest(salted_password, b"Client Key", self.algorithm)
        return hashlib.new(self.algorithm, client_key).digest()

    def server_key(self, salted_password: bytes) -> bytes:
        """Return by what a client recognises the server."""
        return hmac.digest(salted_password, b"Server Key", self.algorithm)


MECHANISMS: Final = {
    mechanism.name: mechanism
    for mechanism in (
        Mechanism("SCRAM-SHA-256", 1, "sha256"),
        Mechanism("SCRAM-SHA-512", 2, "sha512"),
    )
}
MECHANISMS_BY_TYPE: Final = {mechanism.type: mechanism for mechanism in MECHANISMS.values()}
