"""Client quotas: by entity, set and taken back."""

from barnabas.metadata.levels import Form
from barnabas.metadata.quotas import EMPTY, ClientQuotasDelta, ClientQuotasImage, entity
from barnabas.metadata.snapshot import no_loss
from barnabas.wire.messages.stored.client_quota_record import ClientQuotaRecord


def quota(key: str, limit: float | None, **whose: str | None) -> ClientQuotaRecord:
    """Return a quota for an entity; None takes it back."""
    return ClientQuotaRecord(
        entity=[
            ClientQuotaRecord.EntityData(entity_type=kind.replace("_", "-"), entity_name=name)
            for kind, name in whose.items()
        ],
        key=key,
        value=limit or 0.0,
        remove=limit is None,
    )


def after(*records: ClientQuotaRecord, image: ClientQuotasImage = EMPTY) -> ClientQuotasImage:
    """Return the image after some records."""
    delta = ClientQuotasDelta(image)
    for record in records:
        delta.replay(record)
    return delta.apply()


def test_a_quota_is_set_replaced_and_taken_back() -> None:
    image = after(quota("rate", 1.5, user="a"), quota("ratio", 2.0, user="a"))
    assert image.entities[entity({"user": "a"})] == {"rate": 1.5, "ratio": 2.0}
    image = after(quota("rate", 3.0, user="a"), quota("ratio", None, user="a"), image=image)
    assert image.entities[entity({"user": "a"})] == {"rate": 3.0}
    image = after(quota("rate", None, user="a"), image=image)
    assert image.is_empty


def test_an_entity_is_the_same_in_whatever_order_it_is_told() -> None:
    image = after(
        quota("rate", 1.0, user="a", client_id="c"), quota("ratio", 2.0, client_id="c", user="a")
    )
    assert list(image.entities) == [(("client-id", "c"), ("user", "a"))]


def test_everybody_without_a_name_is_nobody_of_an_empty_name() -> None:
    image = after(quota("rate", 1.0, user=None), quota("rate", 2.0, user=""))
    assert image.entities[(("user", None),)] == {"rate": 1.0}
    assert image.entities[(("user", ""),)] == {"rate": 2.0}


def test_quotas_are_written_in_an_order_of_their_own() -> None:
    records = [quota("rate", 1.0, user=name) for name in ("b", None, "a", "")]
    told = list(after(*records).records(Form(30, no_loss)))
    assert told == list(after(*reversed(records)).records(Form(30, no_loss)))
    assert len(told) == 4


def test_between_two_images_lies_every_entity_that_is_another() -> None:
    one = after(quota("rate", 1.0, user="a"), quota("rate", 1.0, ip="::1"))
    other = after(quota("rate", 2.0, user="a"))
    delta = ClientQuotasDelta.between(one, other)
    assert delta.entities == {(("user", "a"),): {"rate": 2.0}, (("ip", "::1"),): None}
    assert delta.apply() == other
