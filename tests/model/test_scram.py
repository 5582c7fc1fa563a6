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
    assert signature == b64decode("6rriTRBi23WpR/wtup+mMhUZUn/dB5nLTJRsjl95G4o=")
    # The client's proof hides its key, and the key's hash is what is stored.
    stored = mechanism.stored_key(salted)
    mask = hmac.digest(stored, CONVERSATION, "sha256")
    proof = b64decode("dHzbZapWIK4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client_key = bytes(one ^ other for one, other in zip(proof, mask, strict=True))
    assert hashlib.sha256(client_key).digest() == stored


def test_mechanisms_are_known_by_name_and_number() -> None:
    assert [MECHANISMS_BY_TYPE[number].name for number in (1, 2)] == list(MECHANISMS)
    assert MECHANISMS["SCRAM-SHA-512"].constant == "SCRAM_SHA_512"
