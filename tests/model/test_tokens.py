"""What a delegation token is worth."""

import pytest

from barnabas.model.tokens import Principal, is_hmac, token_hmac


def test_a_secret_is_made_of_the_key_and_the_id() -> None:
    # HMAC-SHA-512 of RFC 4231, case 2.
    secret = token_hmac("Jefe", "what do ya want for nothing?")
    assert secret.hex().startswith("164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd6")
    assert is_hmac(secret, "Jefe", "what do ya want for nothing?")
    assert not is_hmac(secret, "Jefe", "another")
    assert not is_hmac(b"", "Jefe", "what do ya want for nothing?")


@pytest.mark.parametrize("text", ["User:alice", "User:", "User:a:b", "Group:x"])
def test_a_principal_is_spelled_as_it_was_read(text: str) -> None:
    principal = Principal.of(text)
    assert str(principal) == text
    assert principal.type in ("User", "Group")
