"""What a new leader decides first: how a cluster begins, or how a transaction ends.

    no metadata.version yet ──▶ BEGIN, the bootstrap records, END
    a transaction is open   ──▶ ABORT: nobody knows what its author had in mind
    neither                 ──▶ nothing

The log says how it is to be read before it says anything else, so its first records are those that
the directories were formatted with.  With eligible leader replicas ``min.insync.replicas`` is the
cluster's and not each broker's own, so it is written down at once.  If the first leader dies in the
middle of that, the second takes it back and writes all of it again.

Fixed by Kafka's ActivationRecordsGenerator.java.
"""

from collections.abc import Sequence
from typing import Final

from barnabas.controller.config import ControllerConfig
from barnabas.controller.state import ALL_BROKERS, ControllerState
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.levels import TRANSACTIONS
from barnabas.model.features import ELIGIBLE_LEADER_REPLICAS_VERSION, METADATA_VERSION
from barnabas.model.topic_configs import MIN_INSYNC_REPLICAS
from barnabas.statelog.decision import Decision
from barnabas.wire.messages.stored.abort_transaction_record import AbortTransactionRecord
from barnabas.wire.messages.stored.begin_transaction_record import BeginTransactionRecord
from barnabas.wire.messages.stored.config_record import ConfigRecord
from barnabas.wire.messages.stored.end_transaction_record import EndTransactionRecord
from barnabas.wire.messages.stored.feature_level_record import FeatureLevelRecord
from barnabas.wire.structs import Message

FAILOVER: Final = "Controller failover"
BOOTSTRAP: Final = "Bootstrap records"
"""What Kafka calls them; people look for these words in their logs."""

MIN_INSYNC_DEFAULT: Final = "1"


def activate(
    state: ControllerState,
    config: ControllerConfig,
    bootstrap: Sequence[Message],
    in_transaction: bool,
) -> Decision[Message, None]:
    """Decide what has to be written before anything else is decided."""
    ended = (AbortTransactionRecord(reason=FAILOVER),) if in_transaction else ()
    if state.image.features.metadata_version is not None:
        return Decision(ended, None)
    levels = {it.name: it.feature_level for it in bootstrap if isinstance(it, FeatureLevelRecord)}
    first = list(bootstrap)
    if levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0:
        name = MIN_INSYNC_REPLICAS
        first.append(
            ConfigRecord(
                resource_type=ResourceType.BROKER,
                resource_name=ALL_BROKERS,
                name=name,
                value=config.static.get(name, MIN_INSYNC_DEFAULT),
            )
        )
    if levels[METADATA_VERSION] < TRANSACTIONS:
        assert not in_transaction, "a transaction at a level that has none"
        return Decision(tuple(first), None)
    begin = BeginTransactionRecord(name=BOOTSTRAP)
    return Decision((*ended, begin, *first, EndTransactionRecord()), None)
