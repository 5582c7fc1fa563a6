"""Passwords that a cluster begins with."""

import base64
import hashlib
import hmac

import pytest

from barnabas.model.errors import Misconfigured
from barnabas.node.scram import scram_record


def octets(count: int) -> bytes:
    return b"s" * count


def test_a_password_becomes_what_proves_it() -> None:
    # The example of RFC 7677: user "user", password "pencil".
    record = scram_record(
        'SCRAM-SHA-256=[name=user,password=pencil,iterations=4096,salt="W22ZaJ0SNY7soEsUEjb6gQ=="]',
        octets,
    )
    assert record.name == "user"
    assert record.mechanism == 1
    assert record.iterations == 4096
    client_first = "n=user,r=rOprNGfwEbeRWgbNEkqO"
    server_first = (
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    final = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    said = f"{client_first},{server_first},{final}".encode()
    signature = hmac.digest(record.server_key, said, "sha256")
    assert base64.b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    # The proof of the exchange is the client's key under a signature with the stored key.
    stored = hmac.digest(record.stored_key, said, "sha256")
    given = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    client_key = bytes(a ^ b for a, b in zip(base64.b64decode(given), stored, strict=True))
    assert hashlib.sha256(client_key).digest() == record.stored_key


def test_a_salt_is_drawn_and_the_least_iterations_are_the_default() -> None:
    record = scram_record("SCRAM-SHA-512=[name=alice,password=a]", octets)
    assert record.mechanism == 2
    assert record.salt == b"s" * 26
    assert record.iterations == 4096
    assert len(record.stored_key) == len(record.server_key) == 64


def test_a_salted_password_is_taken_as_it_is() -> None:
    record = scram_record(
        'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]', octets
    )
    assert record.salt == b"7q"
    assert record.server_key == hmac.digest(b"`!", b"Server Key", "sha512")


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("SCRAM", "Failed to find equals sign in SCRAM argument 'SCRAM'"),
        ("PLAIN=[name=a]", "The add-scram mechanism PLAIN is not supported."),
        ("SCRAM-SHA-256=name=a]", r"Expected configuration string to start with \["),
        ("SCRAM-SHA-256=[name=a", "Expected configuration string to end with ]"),
        ("SCRAM-SHA-256=[name]", "No equals sign found in SCRAM component: name"),
        ("SCRAM-SHA-256=[password=x]", "You must supply 'name' to add-scram"),
        ("SCRAM-SHA-256=[name=a]", "one of 'password' or 'saltedpassword'"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=YCE=]", "supply 'salt' with 'saltedpassword'"),
        ("SCRAM-SHA-256=[name=a,password=b,salt=!]", "Failed to decode given salt: !"),
        ("SCRAM-SHA-256=[name=a,salt=N3E=,saltedpassword=!]", "decode given saltedPassword: !"),
        ("SCRAM-SHA-256=[name=a,password=b,iterations=x]", "Failed to parse iterations count: x"),
        ("SCRAM-SHA-256=[name=a,password=b,iterations=4095]", "must be >= 4096 .* SCRAM_SHA_256"),
        ("SCRAM-SHA-512=[name=a,password=b,iterations=16385]", "must be <= 16384 .* SCRAM_SHA_512"),
        ("SCRAM-SHA-256=[name=a,password=b,x=y,c=d]", "Unknown SCRAM configurations: c, x"),
    ],
)
def test_what_is_no_password_is_refused_in_kafkas_words(argument: str, why: str) -> None:
    with pytest.raises(Misconfigured, match=why):
        scram_record(argument, octets)
