"""What the generator makes, and what of it is current."""

import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.wire.messages import message_class, message_names
from barnabas.wire.structs import Message

ROOT = Path(__file__).parent.parent.parent
GENERATOR = ROOT / "tools" / "generate_messages.py"


def test_the_committed_messages_are_what_the_schema_makes() -> None:
    check = subprocess.run(
        [sys.executable, GENERATOR, "--check"], capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stdout


def test_every_schema_file_is_a_message() -> None:
    schema = ROOT / "src/barnabas/wire/schema"
    assert message_names() == sorted(path.stem for path in schema.glob("*.json"))
    for name in message_names():
        message = message_class(name)
        assert issubclass(message, Message)
        assert message.__name__ == name


def test_a_message_that_kafka_does_not_have_is_refused() -> None:
    with pytest.raises(KeyError, match="Kafka has no message 'FetshRequest'"):
        message_class("FetshRequest")
