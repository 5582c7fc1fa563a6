"""What proves a password."""

import hashlib
import hmac
from base64 import b64decode

from barnabas.model.scram import MECHANISMS, MECHANISMS_BY_TYPE

NONCE = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="
CONVERSATION = f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={NONCE},s={SALT},i=4096,c=biws,r={NONCE}".encode()


def test_the_keys_are_those_of_the_standards_example() -> None:
    # RFC 7677: user "user" with the password "pencil".
    mechanism = MECHANISMS["SCRAM-SHA-256"]
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", b64decode(SALT), 4096)
    signature = hmac.digest(mechanism.server_key(salted), CONVERSATION, "sha256")
    assert signature == b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    # A client proves its key by hiding it behind what the stored key makes of the conversation.
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    assert mechanism.stored_key(salted) == hashlib.sha256(client_key).digest()


def test_mechanisms_are_known_by_name_and_number() -> None:
    assert [MECHANISMS_BY_TYPE[number].name for number in (1, 2)] == list(MECHANISMS)
    assert MECHANISMS["SCRAM-SHA-512"].constant == "SCRAM_SHA_512"
