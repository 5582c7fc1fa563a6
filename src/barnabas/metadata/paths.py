"""An image as a tree of paths, spelled as Apache Kafka's metadata shell spells it.

    /image/provenance                      offset 41, epoch 3, time 2026-01-02T03:04:05Z[UTC]
    /image/features/metadataVersion        Optional[4.3-IV0]
    /image/cluster/brokers/1               BrokerRegistration(id=1, epoch=12, …)
    /image/topics/byName/orders/0          PartitionRegistration(replicas=[1, 2], …)
    /image/topics/byId/…/0                 the same, by the topic's id

Who knows that shell finds everything where it is there, and two images, one held by us and one by
Kafka, can be compared path by path, which is how ``./dev compat`` judges ours.  The tree is made
while it is walked: to look at one partition among a million costs one lookup.

A view says what is shown.  Kafka's (``AS_KAFKA``) shows every secret, and cannot show the quotas of
an entity with a part that has no name, which are those of everybody who has no quota of their own:
it spells them like an entity without that part.  An operator's (``AS_OPERATOR``) hides secrets, and
spells such a part without parentheses: ``user``, ``clientId_user(alice)``.  Where two entities are
spelled alike, Kafka's shell prints the same leaves twice, and we once.  Numbers of 17 digits are
spelled as Java 19 and later do: as short as they can be.

Fixed by Kafka's image/node/*.java and the toString methods of what they show.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

from barnabas.metadata.acls import Acl
from barnabas.metadata.cluster import BrokerRegistration, ControllerRegistration, Endpoint
from barnabas.metadata.configs import ConfigResource, ResourceType
from barnabas.metadata.image import MetadataImage, Provenance
from barnabas.metadata.quotas import Entity
from barnabas.metadata.scram import ScramCredential, ScramUser
from barnabas.metadata.tokens import DelegationToken
from barnabas.metadata.topics import RECOVERED, PartitionRegistration, Topic
from barnabas.model.features import METADATA_VERSIONS
from barnabas.model.ids import Uuid, parse_uuid, uuid_text
from barnabas.model.value import value

V = TypeVar("V")

Path: TypeAlias = tuple[str, ...]

NUMBER: Final = re.compile("0|-?[1-9][0-9]*")

REDACTED: Final = "[redacted]"

UNKNOWN: Final = "UNKNOWN"
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
RESOURCES: Final = (
    UNKNOWN, "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER",
)  # fmt: skip
PATTERNS: Final = (UNKNOWN, "ANY", "MATCH", "LITERAL", "PREFIXED")
OPERATIONS: Final = (
    UNKNOWN, "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE",
    "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS",
    "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT",
)  # fmt: skip
PERMISSIONS: Final = (UNKNOWN, "ANY", "DENY", "ALLOW")
"""Kafka's names of the numbers in registrations and ACLs."""

MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}

QUOTA_PARTS: Final = {"client-id": "clientId", "ip": "ip", "user": "user"}
"""The types of the parts of an entity, in the order in which they are spelled."""

SENSITIVE: Final = re.compile(
    r"password|secret|passphrase|"
    r"(sasl\.jaas\.config|ssl\.keystore\.(key|certificate\.chain)|ssl\.truststore\.certificates)$"
)
"""Configs of Kafka's type PASSWORD, whatever prefix they have, and what sounds like one."""

PROTOCOL_IDS: Final = range(len(PROTOCOLS))
RESOURCE_TYPES: Final = frozenset(map(int, ResourceType))
LEVEL_MAX: Final = 32_767
"""What a feature supports that has no highest level."""

ESCAPED: Final = re.compile(r"[\\()]")
ESCAPE: Final = r"\\\g<0>"
"""What must not be taken for the end of a name."""

DAY_MS: Final = 86_400_000
ERA_DAYS: Final = 146_097
DAYS_FROM_MARCH_0: Final = 719_468
"""From the first of March of the year 0 to the day from which times are counted."""
MONTHS_TO_JANUARY: Final = 10
YEAR_MAX: Final = 9_999

PLAIN_MIN: Final = 1e-3
PLAIN_MAX: Final = 1e7
"""Between these, Java writes a number without an exponent."""


@value
class View:
    """What is shown."""

    secrets: bool
    """Salts and keys of credentials, passwords in configs."""
    unnamed: bool
    """The quotas of everybody who has none of their own."""


AS_KAFKA: Final = View(secrets=True, unnamed=False)
AS_OPERATOR: Final = View(secrets=False, unnamed=True)


@value
class Directory:
    """A place with others under it; what is there is made when it is asked for."""

    names: Callable[[], Iterable[str]]
    child: Callable[[str], "Node | None"]

    def sorted(self) -> list[str]:
        """Return the names in Kafka's order, which is Java's of strings."""
        return sorted(self.names(), key=lambda name: name.encode("utf-16-be", "surrogatepass"))


Node: TypeAlias = Directory | str


def paths(image: MetadataImage) -> Iterator[tuple[str, str]]:
    """Yield each path at which Kafka's shell has something to show, and what it shows there."""
    for path, text in leaves(tree(image, AS_KAFKA)):
        yield "/" + "/".join(path), text


def leaves(node: Node, at: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield what is at the ends of a tree, in order."""
    if isinstance(node, str):
        yield at, node
        return
    for name in node.sorted():
        child = node.child(name)
        if child is not None:
            yield from leaves(child, (*at, name))


def at_path(root: Node, path: Path) -> Node | None:
    """Go down a tree; None if there is no such place."""
    found: Node | None = root
    for name in path:
        found = found.child(name) if isinstance(found, Directory) else None
    return found


def tree(image: MetadataImage, view: View) -> Directory:
    """Return the tree of an image; its root holds ``image`` and nothing else."""
    return fixed({"image": lambda: image_tree(image, view)})


def image_tree(image: MetadataImage, view: View) -> Directory:
    """Return the parts of an image, and where it ends."""
    return fixed(
        {
            "provenance": lambda: provenance_text(image.provenance),
            "features": lambda: features(image),
            "cluster": lambda: cluster(image),
            "topics": lambda: topics(image),
            "configs": lambda: configs(image, view),
            "clientQuotas": lambda: client_quotas(image, view),
            "producerIds": lambda: fixed(
                {"nextProducerId": lambda: str(image.producer_ids.next_producer_id)}
            ),
            "acls": lambda: fixed({"byId": lambda: acls(image)}),
            "scram": lambda: scram(image, view),
            "delegationToken": lambda: tokens(image),
        }
    )


# --- The parts --------------------------------------------------------------------------------


def features(image: MetadataImage) -> Directory:
    """Return the levels."""
    version, levels = image.features.metadata_version, image.features.levels
    spelled = [str(each) for each in METADATA_VERSIONS if each.level == version]
    shown = {"metadataVersion": f"Optional[{spelled[0]}]" if spelled else "Optional.empty"}
    shown |= {f"finalized_{name}": str(level) for name, level in levels.items()}
    return texts(shown)


def cluster(image: MetadataImage) -> Directory:
    """Return the nodes that are registered."""
    brokers, controllers = image.cluster.brokers, image.cluster.controllers
    return fixed(
        {
            "brokers": lambda: numbered(brokers, broker_text),
            "controllers": lambda: numbered(controllers, controller_text),
        }
    )


def topics(image: MetadataImage) -> Directory:
    """Return the topics, by their names and by their ids."""
    named, by_id = image.topics.named, image.topics.topics

    def of_name(name: str) -> Node | None:
        found = named(name)
        return None if found is None else topic(found)

    def of_id(text: str) -> Node | None:
        try:
            found = by_id.get(parse_uuid(text))
        except ValueError:
            return None
        return None if found is None else topic(found)

    return fixed(
        {
            "byName": lambda: Directory(lambda: image.topics.names, of_name),
            "byId": lambda: Directory(lambda: map(uuid_text, by_id), of_id),
        }
    )


def topic(shown: Topic) -> Directory:
    """Return a topic and its partitions."""
    own = {"name": shown.name, "id": uuid_text(shown.id)}

    def child(name: str) -> Node | None:
        if name in own:
            return own[name]
        found = shown.partition(int(name)) if NUMBER.fullmatch(name) else None
        return None if found is None else partition_text(found)

    return Directory(lambda: (*own, *map(str, shown.stored)), child)


def configs(image: MetadataImage, view: View) -> Directory:
    """Return what was set, by resource."""
    resources = {resource_text(which): which for which in image.configs.resources}

    def child(name: str) -> Node | None:
        if name not in resources:
            return None
        held = image.configs.resources[resources[name]]
        return texts({key: config_text(key, text, view) for key, text in held.items()})

    return Directory(lambda: resources, child)


def client_quotas(image: MetadataImage, view: View) -> Directory:
    """Return the quotas, by whose they are."""
    entities = {
        entity_text(entity): entity
        for entity in image.client_quotas.entities
        if view.unnamed or all(name is not None for _, name in entity)
    }

    def child(name: str) -> Node | None:
        if name not in entities:
            return None
        quotas = image.client_quotas.entities[entities[name]]
        return texts({key: double_text(limit) for key, limit in quotas.items()})

    return Directory(lambda: entities, child)


def acls(image: MetadataImage) -> Directory:
    """Return the rules, by id."""
    rules = image.acls.acls

    def child(text: str) -> Node | None:
        try:
            found = rules.get(parse_uuid(text))
        except ValueError:
            return None
        return None if found is None else acl_text(found)

    return Directory(lambda: map(uuid_text, rules), child)


def scram(image: MetadataImage, view: View) -> Directory:
    """Return the credentials, by mechanism and user; both mechanisms are always there."""
    credentials = image.scram.credentials

    def users(number: int) -> Directory:
        def child(name: str) -> Node | None:
            found = credentials.get(ScramUser(number, name))
            return None if found is None else credential_text(found, view)

        return Directory(lambda: (name for each, name in credentials if each == number), child)

    def child(name: str) -> Node | None:
        return users(MECHANISMS[name]) if name in MECHANISMS else None

    return Directory(lambda: MECHANISMS, child)


def tokens(image: MetadataImage) -> Directory:
    """Return the delegation tokens, by id."""
    held = image.delegation_tokens.tokens

    def child(name: str) -> Node | None:
        found = held.get(name)
        return None if found is None else token_text(name, found)

    return Directory(lambda: held, child)


def fixed(children: Mapping[str, Callable[[], Node]]) -> Directory:
    """Return a directory of which everything has its place."""
    return Directory(lambda: children, lambda name: children[name]() if name in children else None)


def texts(shown: Mapping[str, str]) -> Directory:
    """Return a directory with nothing but texts in it."""
    return Directory(lambda: shown, shown.get)


def numbered(things: Mapping[int, V], shown: Callable[[V], str]) -> Directory:
    """Return things by their numbers."""

    def child(name: str) -> Node | None:
        found = things.get(int(name)) if NUMBER.fullmatch(name) else None
        return None if found is None else shown(found)

    return Directory(lambda: map(str, things), child)


# --- What is shown of each thing ----------------------------------------------------------------


def provenance_text(place: Provenance) -> str:
    """Spell where an image ends."""
    return f"offset {place.offset}, epoch {place.epoch}, time {time_text(place.append_ms)}[UTC]"


def broker_text(broker: BrokerRegistration) -> str:
    """Spell the registration of a broker."""
    cordoned = broker.cordoned_directories
    return (
        f"BrokerRegistration(id={broker.id}, epoch={broker.epoch}, "
        f"incarnationId={uuid_text(broker.incarnation_id)}, "
        f"{node_text(broker)}, "
        f"rack={'Optional.empty' if broker.rack is None else f'Optional[{broker.rack}]'}, "
        f"fenced={truth(broker.fenced)}, "
        f"inControlledShutdown={truth(broker.in_controlled_shutdown)}, "
        f"isMigratingZkBroker={truth(broker.is_migrating_zk_broker)}, "
        f"directories={ids(broker.directories)}, "
        f"cordonedDirectories={'null' if cordoned is None else ids(cordoned)})"
    )


def controller_text(controller: ControllerRegistration) -> str:
    """Spell the registration of a controller."""
    return (
        f"ControllerRegistration(id={controller.id}, "
        f"incarnationId={uuid_text(controller.incarnation_id)}, "
        f"zkMigrationReady={truth(controller.zk_migration_ready)}, "
        f"{node_text(controller)})"
    )


def node_text(node: BrokerRegistration | ControllerRegistration) -> str:
    """Spell where a node is, and what it can work with."""
    listeners = ", ".join(endpoint_text(at) for _, at in sorted(node.listeners.items()))
    supported = ", ".join(
        f"{name}: {range_text(*levels)}" for name, levels in sorted(node.supported_features.items())
    )
    return f"listeners=[{listeners}], supportedFeatures={{{supported}}}"


def endpoint_text(at: Endpoint) -> str:
    """Spell where a listener is reached."""
    protocol = PROTOCOLS[at.security_protocol] if at.security_protocol in PROTOCOL_IDS else "null"
    return (
        f"Endpoint(listenerName='{at.name}', securityProtocol={protocol}, host='{at.host}', "
        f"port={at.port})"
    )


def range_text(least: int, most: int) -> str:
    """Spell a range of levels."""
    if least == most:
        return str(least)
    return f"{least}+" if most == LEVEL_MAX else f"{least}-{most}"


def partition_text(partition: PartitionRegistration) -> str:
    """Spell the registration of a partition."""
    recovered = partition.leader_recovery_state == RECOVERED
    return (
        f"PartitionRegistration(replicas={list(partition.replicas)}, "
        f"directories={ids(partition.directories)}, "
        f"isr={list(partition.isr)}, "
        f"removingReplicas={list(partition.removing_replicas)}, "
        f"addingReplicas={list(partition.adding_replicas)}, "
        f"elr={list(partition.elr)}, "
        f"lastKnownElr={list(partition.last_known_elr)}, "
        f"leader={partition.leader}, "
        f"leaderRecoveryState={'RECOVERED' if recovered else 'RECOVERING'}, "
        f"leaderEpoch={partition.leader_epoch}, "
        f"partitionEpoch={partition.partition_epoch})"
    )


def resource_text(resource: ConfigResource) -> str:
    """Spell what is configured; all of a type if it has no name."""
    known = resource.type in RESOURCE_TYPES
    kind = ResourceType(resource.type).name if known else UNKNOWN
    return f"{kind}:{resource.name}" if resource.name else kind


def config_text(key: str, text: str, view: View) -> str:
    """Spell a config, unless it is a secret that is not shown."""
    return REDACTED if not view.secrets and SENSITIVE.search(key) else text


def entity_text(entity: Entity) -> str:
    """Spell whose a quota is; a part without a name stands for everybody without a quota."""
    parts = dict(entity)
    return "_".join(
        spelled if (name := parts[kind]) is None else f"{spelled}({ESCAPED.sub(ESCAPE, name)})"
        for kind, spelled in QUOTA_PARTS.items()
        if kind in parts
    )


def acl_text(acl: Acl) -> str:
    """Spell a rule."""
    return (
        f"StandardAcl[resourceType={word(RESOURCES, acl.resource_type)}, "
        f"resourceName={acl.resource_name}, "
        f"patternType={word(PATTERNS, acl.pattern_type)}, "
        f"principal={acl.principal}, "
        f"host={acl.host}, "
        f"operation={word(OPERATIONS, acl.operation)}, "
        f"permissionType={word(PERMISSIONS, acl.permission_type)}]"
    )


def credential_text(credential: ScramCredential, view: View) -> str:
    """Spell a credential; its secrets only to those who may see them."""
    secrets = (credential.salt, credential.stored_key, credential.server_key)
    salt, stored, server = (each.hex() if view.secrets else REDACTED for each in secrets)
    return (
        f"ScramCredentialData(salt={salt}, storedKey={stored}, serverKey={server}, "
        f"iterations={credential.iterations})"
    )


def token_text(token_id: str, token: DelegationToken) -> str:
    """Spell a token.  The parentheses are Kafka's."""
    return (
        f"DelegationTokenDatatokenId={token_id}(owner={token.owner}"
        f"(tokenRequester={token.requester}(renewers={' '.join(token.renewers)}, "
        f"issueTimestamp={token.issue_ms}, maxTimestamp={token.max_ms})"
        f", expiryTimestamp={token.expiration_ms}"
    )


# --- Words and numbers as Java writes them ------------------------------------------------------


def truth(told: bool) -> str:
    """Spell whether something is so."""
    return "true" if told else "false"


def ids(told: Sequence[Uuid]) -> str:
    """Spell a list of ids."""
    return f"[{', '.join(map(uuid_text, told))}]"


def word(words: Sequence[str], number: int) -> str:
    """Return the word for a number."""
    return words[number] if 0 <= number < len(words) else UNKNOWN


def time_text(ms: int) -> str:
    """Spell a time of the calendar, in UTC: 2026-01-02T03:04:05.678Z.

    The year begins in March here, so that the day that is there every four years is its last; an
    era is the 400 years after which everything comes again.
    """
    days, of_day = divmod(ms, DAY_MS)
    era, of_era = divmod(days + DAYS_FROM_MARCH_0, ERA_DAYS)
    years = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    year = 400 * era + years + (month >= MONTHS_TO_JANUARY)
    month = (month + 2) % 12 + 1
    seconds, fraction = divmod(of_day, 1_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    behind = f".{fraction:03}".rstrip("0") if fraction else ""
    era_sign = "+" if year > YEAR_MAX else "-" if year < 0 else ""
    return (
        f"{era_sign}{abs(year):04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{behind}Z"
    )


def double_text(number: float) -> str:
    """Spell a number as Java does: 0.5, 1048576.0, 1.0E7."""
    if not math.isfinite(number):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(number, "NaN")
    if number == 0 or PLAIN_MIN <= abs(number) < PLAIN_MAX:
        # Java has no other notation here, and Python's turns at smaller and larger numbers.
        return repr(number)
    mantissa, _, exponent = f"{number!r}".partition("e")
    if not exponent:
        sign, digits, point = decimal(mantissa)
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def decimal(plain: str) -> tuple[str, str, int]:
    """Return the sign and the digits of a number, and behind how many of them the point stands."""
    sign, unsigned = ("-", plain[1:]) if plain.startswith("-") else ("", plain)
    whole, _, behind = unsigned.partition(".")
    digits = (whole + behind).lstrip("0")
    point = len(whole) - (len(whole + behind) - len(digits))
    return sign, digits.rstrip("0"), point
