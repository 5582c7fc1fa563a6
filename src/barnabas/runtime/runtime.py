"""The bundle that product code is handed: one per life of a process."""

from barnabas.model.value import value
from barnabas.runtime.clock import Clock
from barnabas.runtime.disk import Disk
from barnabas.runtime.entropy import Entropy
from barnabas.runtime.network import Network
from barnabas.runtime.probes import Probes
from barnabas.runtime.tasks import TaskScope


@value
class Runtime:
    """Everything a process may ask of the world.

    ``tasks`` is the root of the process: components take children of it.
    """

    clock: Clock
    entropy: Entropy
    disk: Disk
    network: Network
    tasks: TaskScope
    probes: Probes
