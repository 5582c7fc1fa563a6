"""Passwords that a cluster begins with: the argument ``--add-scram``, made a record (KIP-900).

    SCRAM-SHA-256=[name=alice,password=alice-secret]
    SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]

The record holds what proves a password and not the password (RFC 5802): the hash of a key that a
client makes of it, and the key by which the server shows that it has the hash.

Kafka's ScramParser.java and ScramFormatter.java fix syntax, bounds and words.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping
from typing import Final

from barnabas.model.errors import Misconfigured
from barnabas.model.scram import MECHANISMS, Mechanism
from barnabas.node.properties import whole_number
from barnabas.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord

SALT_BYTES: Final = 26
"""As long as Kafka's salts are, which are 130 random bits written with 36 letters."""


def scram_record(argument: str, octets: Callable[[int], bytes]) -> UserScramCredentialRecord:
    """Return the record of one argument; a salt is drawn if none is given."""
    text = argument.strip()
    name, found, rest = text.partition("=")
    if not found:
        raise Misconfigured(f"Failed to find equals sign in SCRAM argument '{text}'")
    mechanism = MECHANISMS.get(name)
    if mechanism is None:
        raise Misconfigured(f"The add-scram mechanism {name} is not supported.")
    if not rest.startswith("["):
        raise Misconfigured("Expected configuration string to start with [")
    if not rest.endswith("]"):
        raise Misconfigured("Expected configuration string to end with ]")
    parts = dict(component(part) for part in rest[1:-1].split(","))
    user = parts.pop("name", None)
    if user is None:
        raise Misconfigured("You must supply 'name' to add-scram")
    given_salt = parts.pop("salt", None)
    salt = octets(SALT_BYTES) if given_salt is None else decoded("salt", given_salt)
    iterations = iterations_of(parts.pop("iterations", None), mechanism)
    check_parts(parts, given_salt is not None)
    check_iterations(iterations, mechanism)
    salted = salted_password(parts, mechanism, salt, iterations)
    return UserScramCredentialRecord(
        name=user,
        mechanism=mechanism.type,
        salt=salt,
        stored_key=mechanism.stored_key(salted),
        server_key=mechanism.server_key(salted),
        iterations=iterations,
    )


def component(text: str) -> tuple[str, str]:
    """Return name and value of one part of the argument; quotes around the value go."""
    name, found, said = text.partition("=")
    if not found:
        raise Misconfigured(f"No equals sign found in SCRAM component: {text}")
    if len(said) >= 2 and said[0] == said[-1] == '"':
        said = said[1:-1]
    return name, said


def iterations_of(text: str | None, mechanism: Mechanism) -> int:
    """Return how often to hash."""
    if text is None:
        return mechanism.iterations_min
    iterations = whole_number(text)
    if iterations is None:
        raise Misconfigured(f"Failed to parse iterations count: {text}")
    return iterations


def check_parts(parts: Mapping[str, str], has_salt: bool) -> None:
    """Refuse an argument that says too little or too much, beside name, salt and iterations."""
    if "password" not in parts and "saltedpassword" not in parts:
        raise Misconfigured("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if "password" not in parts and not has_salt:
        raise Misconfigured("You must supply 'salt' with 'saltedpassword' to add-scram")
    unknown = sorted(parts.keys() - {"password", "saltedpassword"})
    if unknown:
        raise Misconfigured(f"Unknown SCRAM configurations: {', '.join(unknown)}")


def check_iterations(iterations: int, mechanism: Mechanism) -> None:
    """Refuse to hash more or less often than the mechanism wants."""
    least, most = mechanism.iterations_min, mechanism.iterations_max
    if not least <= iterations <= most:
        bound = f">= {least}" if iterations < least else f"<= {most}"
        raise Misconfigured(
            f"The 'iterations' value must be {bound} for add-scram using {mechanism.constant}"
        )


def salted_password(
    parts: Mapping[str, str], mechanism: Mechanism, salt: bytes, iterations: int
) -> bytes:
    """Return the password, salted and hashed, or as it was given."""
    password = parts.get("password")
    if password is None:
        return decoded("saltedPassword", parts["saltedpassword"])
    return hashlib.pbkdf2_hmac(mechanism.algorithm, password.encode(), salt, iterations)


def decoded(what: str, text: str) -> bytes:
    """Return the bytes of a text in base64, padded or not."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Misconfigured(f"Failed to decode given {what}: {text}") from error
