from ottla.broker.quorum.peer_addresses import PeerAddresses
from ottla.broker.quorum.wire import NodeAddress
from ottla.client.addresses import Address
from ottla.raft import ReplicaKey, Voter, VoterEndpoint, VoterSet

VOTERS = VoterSet(
    (
        Voter(ReplicaKey(1), (VoterEndpoint("OLD", "one", 1), VoterEndpoint("CONTROLLER", "one", 9093))),
        Voter(ReplicaKey(2), (VoterEndpoint("OTHER", "two", 2),)),
        Voter(ReplicaKey(3)),
    )
)


def test_a_voter_is_where_the_voter_set_says_under_the_preferred_listener() -> None:
    addresses = PeerAddresses(("CONTROLLER", "OLD"))
    assert addresses.of(1, VOTERS) == Address("one", 9093)
    assert addresses.of(2, VOTERS) == Address("two", 2), "the only one that there is"
    assert addresses.of(3, VOTERS) is None
    assert addresses.of(4, VOTERS) is None


def test_what_a_peer_tells_counts_until_nobody_is_found_there() -> None:
    addresses = PeerAddresses(("CONTROLLER",))
    addresses.learn([NodeAddress(1, "moved", 9094), NodeAddress(4, "new", 9095), NodeAddress(2, "", 0)])
    assert addresses.of(1, VOTERS) == Address("moved", 9094)
    assert addresses.of(2, VOTERS) == Address("two", 2), "an address that makes no sense is no news"
    assert addresses.of(4, VOTERS) == Address("new", 9095)
    addresses.forget(1, Address("one", 9093))
    assert addresses.of(1, VOTERS) == Address("moved", 9094), "that was an older attempt"
    addresses.forget(1, Address("moved", 9094))
    assert addresses.of(1, VOTERS) == Address("one", 9093)


def test_bootstrap_servers_have_ids_of_no_node() -> None:
    addresses = PeerAddresses(("CONTROLLER",), [Address("boot", 1), Address("boot", 2)])
    assert [addresses.of(one, VOTERS) for one in addresses.bootstrap_ids] == [Address("boot", 1), Address("boot", 2)]
    assert max(addresses.bootstrap_ids) < -1, "-1 means no node"
