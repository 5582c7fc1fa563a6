"""Delegation tokens: what one is worth, and who is meant by a principal (KIP-48).

A token is an id that everybody may know and a secret that its owner has: the id, sealed with a key
that all nodes share.  So no node has to keep the secret; each can make it again.

Fixed by Kafka's DelegationTokenManager.java and KafkaPrincipal.java.
"""

import hmac
from typing import Final, NamedTuple

ALGORITHM: Final = "sha512"
USER: Final = "User"


class Principal(NamedTuple):
    """Somebody, as the protocol names them."""

    type: str
    name: str

    @staticmethod
    def of(text: str) -> "Principal":
        """Return who is meant by ``User:alice``."""
        kind, _, name = text.partition(":")
        return Principal(kind, name)

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


def token_hmac(key: str, token_id: str) -> bytes:
    """Return the secret of a token."""
    return hmac.digest(key.encode(), token_id.encode(), ALGORITHM)


def is_hmac(told: bytes, key: str, token_id: str) -> bool:
    """Tell whether a secret is that of a token, taking as long whatever it is."""
    return hmac.compare_digest(told, token_hmac(key, token_id))
