"""The codec and its stupid twin, side by side, for every message and every version."""

from random import Random

import pytest

from barnabas.wire import codec
from barnabas.wire.messages import message_class
from tests.wire.naive import Struct, names, twin
from tests.wire.naive_bridge import from_message, to_message

INSTANCES = 4


@pytest.mark.parametrize("name", names())
def test_the_codec_writes_and_reads_what_its_twin_does(name: str) -> None:
    judge = twin(name)
    for version in judge.versions.all():
        for number in range(INSTANCES):
            random = Random(f"{name} {version} {number}")
            plain = judge.instance(version, random, unknown=number % 2 == 1)
            wire = judge.encode(version, plain)
            message = to_message(judge, version, plain)
            assert bytes(codec.encode(message, version)) == wire, (version, plain)
            read = codec.decode(message_class(name), version, wire)
            assert read == message, (version, plain)
            assert from_message(judge, version, read) == plain, version


def test_the_twin_writes_an_api_versions_request_byte_for_byte() -> None:
    plain: Struct = {"clientSoftwareName": "kio", "clientSoftwareVersion": "1"}
    assert twin("ApiVersionsRequest").encode(3, plain) == b"\x04kio\x021\x00"


def test_the_twin_knows_the_whole_of_a_message_when_it_reads_one() -> None:
    with pytest.raises(ValueError, match="1 bytes are left of a ResponseHeader"):
        twin("ResponseHeader").decode(0, b"\0\0\0\1\0")
