"""What is wrong with a cluster as far as a client can find out: brokers that are silent, controllers without a leader.

Brokers answer most questions from what they heard last, so a cluster without an active controller looks well to whoever
asks about topics. DescribeQuorum is answered by the active controller alone: no answer is the finding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ottla.cli.access.answers import Answer, ask_addresses
from ottla.cli.exits import CommandError, ExitCode, exit_code_of

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.client.admin.brokers import BrokerDescription

# An election takes a second or two.
CONTROLLER_TIMEOUT_S: Final = 5.0
# More names would hide the sentence.
_NAMES_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class ClusterTrouble:
    """What was found; everything is empty if all is well."""

    # As some broker tells them: those that it heard last.
    brokers: "tuple[BrokerDescription, ...]"
    unanswering: "tuple[BrokerDescription, ...]" = ()
    controllers: CommandError | None = None

    @property
    def fenced(self) -> "tuple[BrokerDescription, ...]":
        return tuple(broker for broker in self.brokers if broker.is_fenced)

    def findings(self) -> list[str]:
        """A sentence for each, the worst first."""
        said = [] if self.controllers is None else [str(self.controllers)]
        if self.unanswering:
            unfenced = [broker for broker in self.brokers if not broker.is_fenced]
            count = len(unfenced) - len(self.unanswering)
            said.append(
                f"{count} of {len(unfenced)} brokers {'answers' if count == 1 else 'answer'}: "
                f"not {_named(self.unanswering)}"
            )
        if self.fenced:
            said.append(f"the controller does not hear from {_named(self.fenced)}: fenced")
        return said

    def remedy(self) -> str | None:
        if not self.findings():
            return None
        if self.controllers is not None and self.controllers.remedy is not None:
            return self.controllers.remedy
        return (
            "Start what is down, or see why it is silent. For a cluster on this machine `ottla cluster status` tells, "
            "and `ottla cluster up` starts."
        )


async def find_trouble(client: "Client") -> ClusterTrouble:
    """Ask the brokers for an answer, and for the controllers; it takes seconds at most."""
    from ottla.client import Client
    from ottla.client.errors import ClientError

    cluster = client.cluster
    settings = replace(
        cluster.settings,
        connect_timeout_ms=CONTROLLER_TIMEOUT_S * 1000,
        request_timeout_ms=CONTROLLER_TIMEOUT_S * 1000,
        call_timeout_ms=CONTROLLER_TIMEOUT_S * 1000,
        on_retry=None,
    )
    addresses = dict.fromkeys((*cluster.bootstrap, *(node.address for node in cluster.metadata.nodes.values())))
    answers = await ask_addresses(addresses, settings.security)
    able = [address for address in addresses if answers[address] is Answer.GIVEN]
    if not able:
        return ClusterTrouble((), controllers=_no_answer("no broker answers any more"))
    # A client of its own, since a broker answers the requests of a connection in order: those of the other one may be
    # waiting for a controller already.
    try:
        async with Client(map(str, able), settings) as asking:
            brokers = await _brokers(asking)
            unknown = {broker.address for broker in brokers if not broker.is_fenced} - answers.keys()
            answers |= await ask_addresses(unknown, settings.security)
            silent = tuple(
                broker for broker in brokers if not broker.is_fenced and answers[broker.address] is not Answer.GIVEN
            )
            return ClusterTrouble(brokers, silent, await _controllers(asking))
    except ClientError as error:
        return ClusterTrouble((), controllers=_no_answer(f"the cluster does not tell its state: {error}"))


async def _brokers(client: "Client") -> "tuple[BrokerDescription, ...]":
    from ottla.client.errors import UnsupportedByBroker

    try:
        return (await client.admin.describe_cluster(include_fenced=True)).brokers
    except UnsupportedByBroker:
        return (await client.admin.describe_cluster()).brokers


async def _controllers(client: "Client") -> CommandError | None:
    """What is wrong with the controllers; None if one of them leads, or the brokers are too old to tell."""
    from ottla.client.errors import ClientError, KafkaError, UnsupportedByBroker

    try:
        quorum = await client.admin.describe_quorum()
    except UnsupportedByBroker:
        return None
    except KafkaError as error:
        if exit_code_of(error) is ExitCode.NOT_AUTHORISED:
            return CommandError(
                f"whether there is an active controller cannot be learned: {error}",
                ExitCode.NOT_AUTHORISED,
                "It takes the permission to describe the cluster.",
            )
        return _no_controller(f" ({error})")
    except ClientError:
        return _no_controller(f" within {CONTROLLER_TIMEOUT_S:g} s")
    return _no_controller("") if quorum.leader_id < 0 else None


def _no_controller(detail: str) -> CommandError:
    return _no_answer(
        f"the controllers do not answer{detail}: fewer than a majority of them is up, or brokers cannot reach them, so "
        "nothing can be changed, and brokers tell what they heard last"
    )


def _no_answer(text: str) -> CommandError:
    return CommandError(text, ExitCode.UNAVAILABLE)


def _named(brokers: "Sequence[BrokerDescription]") -> str:
    more = len(brokers) - _NAMES_MAX
    named = ", ".join(f"broker {broker.node_id} at {broker.address}" for broker in brokers[:_NAMES_MAX])
    return f"{named} and {more} more" if more > 0 else named
