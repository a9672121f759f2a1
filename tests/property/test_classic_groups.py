"""Random lives of a classic group: whatever members do, whenever time passes, the promises hold.

The machine plays several clients that follow the protocol only loosely (they repeat themselves, forget, vanish), a log
that commits when it likes, and a clock. After every step:
- each group keeps its invariants (one leader, supported protocol, consistent counts);
- every request is answered once or parked in exactly one member;
- generations never go back;
- a stable group has given each member that synced the assignment of its generation.
At any time a shard that is loaded from the committed log has the same groups and offsets.
"""

import sys
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from ottla.coordinator.group.states import GroupState
from ottla.protocol.errors import ApiError, ErrorCode
from unit.coordinator.group.playbook import Playbook, subscription

INSTANCES = st.sampled_from([None, "i1", "i2"])
PROTOCOLS = st.sampled_from(
    [{"range": subscription("t")}, {"range": b"x", "sticky": b"y"}, {"sticky": b"z", "range": b""}]
)
PAUSES_MS = st.sampled_from([0, 1, 500, 3_000, 9_999, 10_000, 59_999, 60_000, 300_000])


class GroupLives(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.play = Playbook(group_max_size=4)
        self.known_ids: list[str] = []
        self.generation = 0

    @initialize(size=st.integers(0, 3), instances=st.lists(st.sampled_from(["i1", "i2"]), unique=True))
    def some_are_there(self, size: int, instances: list[str]) -> None:
        for _ in range(size):
            self.play.new_member()
        for instance in instances:
            self.play.join(instance=instance)
        if size or instances:
            self.play.finish_join_phase()
        self._learn_ids()

    def _some_id(self, index: int) -> str:
        return self.known_ids[index % len(self.known_ids)] if self.known_ids else "nobody"

    def _learn_ids(self) -> None:
        for answer in self.play.answers.values():
            member_id = getattr(answer, "member_id", "")
            if member_id and member_id not in self.known_ids:
                self.known_ids.append(member_id)
        del self.known_ids[:-8]

    def _instance_of(self, member_id: str) -> str | None:
        group = self.play.shard.groups.get("g")
        member = group.members.get(member_id) if group else None
        return member.group_instance_id if member else None

    @rule(instance=INSTANCES, protocols=PROTOCOLS, version=st.sampled_from([0, 3, 4, 8, 9]))
    def newcomer_joins(self, instance: str | None, protocols: dict[str, bytes], version: int) -> None:
        self.play.join(instance=instance, protocols=protocols, version=version)
        self._learn_ids()

    @rule(index=st.integers(0, 7), protocols=PROTOCOLS, forgets_instance=st.booleans())
    def member_joins(self, index: int, protocols: dict[str, bytes], forgets_instance: bool) -> None:
        member_id = self._some_id(index)
        instance = None if forgets_instance else self._instance_of(member_id)
        self.play.join(member_id, instance=instance, protocols=protocols)

    @rule(index=st.integers(0, 7), lag=st.sampled_from([0, 0, 0, 1]), names_protocol=st.booleans())
    def member_syncs(self, index: int, lag: int, names_protocol: bool) -> None:
        member_id = self._some_id(index)
        group = self.play.shard.groups.get("g")
        members = group.members if group else {}
        generation = self.generation - lag
        self.play.sync(
            member_id,
            generation,
            {m: f"{m}@{generation}".encode() for m in members},
            instance=self._instance_of(member_id),
            protocol_type="consumer" if names_protocol else None,
            protocol_name=group.protocol_name if group and names_protocol else None,
        )

    @rule()
    def members_rejoin(self) -> None:
        """Everybody does what a rebalance asks for: most random lives would never get that far."""
        group = self.play.shard.groups.get("g")
        if group is None or not group.members:
            return
        for member_id, member in list(group.members.items()):
            protocols = dict(member.protocols)
            self.play.join(member_id, instance=member.group_instance_id, protocols=protocols)
        self.play.finish_join_phase()

    @rule()
    def leader_syncs(self) -> None:
        group = self.play.shard.groups.get("g")
        if group is not None and group.leader_id is not None:
            self.play.sync(
                group.leader_id,
                group.generation_id,
                {m: f"{m}@{group.generation_id}".encode() for m in group.members},
                instance=self._instance_of(group.leader_id),
                protocol_type=None,
                protocol_name=None,
            )

    @rule(index=st.integers(0, 7))
    def member_beats(self, index: int) -> None:
        member_id = self._some_id(index)
        self.play.heartbeat(member_id, self.generation, instance=self._instance_of(member_id))

    @rule(indexes=st.lists(st.integers(0, 7), min_size=1, max_size=3))
    def members_leave(self, indexes: list[int]) -> None:
        self.play.leave(*(self._some_id(index) for index in indexes))

    @rule(instance=st.sampled_from(["i1", "i2"]))
    def admin_removes_instance(self, instance: str) -> None:
        self.play.leave(instances=[instance])

    @rule(index=st.integers(0, 7), partition=st.integers(0, 2), offset=st.integers(0, 99), is_member=st.booleans())
    def somebody_commits(self, index: int, partition: int, offset: int, is_member: bool) -> None:
        member_id = self._some_id(index) if is_member else ""
        try:
            self.play.commit(
                {("t", partition): offset},
                member_id=member_id,
                generation=self.generation if is_member else -1,
                instance=self._instance_of(member_id),
            )
        except ApiError as error:
            assert error.code is not ErrorCode.UNKNOWN_SERVER_ERROR

    @rule(pause_ms=PAUSES_MS)
    def time_passes(self, pause_ms: int) -> None:
        self.play.advance(pause_ms)

    @rule()
    def commits_stall(self) -> None:
        self.play.holds_commits = True

    @precondition(lambda self: self.play.holds_commits)
    @rule()
    def commits_catch_up(self) -> None:
        self.play.holds_commits = False
        self.play.commit_all()

    @rule(is_sync=st.booleans(), instance=st.sampled_from(["i1", "i2"]))
    def log_refuses_once(self, is_sync: bool, instance: str) -> None:
        self.play.append_error = ErrorCode.NOT_COORDINATOR
        if is_sync:
            self.leader_syncs()
        else:
            self.play.join(instance=instance)
        self.play.append_error = None

    @rule()
    def group_is_deleted(self) -> None:
        result = self.play.shard.deletions.delete_groups(["g"])
        if result.records:
            self.generation = 0
        self.play.append(result.records)

    @rule()
    def offsets_expire(self) -> None:
        for records in self.play.shard.expire_offsets(self.play.now_ms):
            if any(type(record).__name__ == "GroupRecord" for record in records):
                self.generation = 0
            self.play.append(records)

    @invariant()
    def generations_only_grow(self) -> None:
        group = self.play.shard.groups.get("g")
        if group is None:
            self.generation = 0
            return
        assert group.generation_id >= self.generation
        self.generation = group.generation_id

    @invariant()
    def stable_members_have_their_own_assignment(self) -> None:
        group = self.play.shard.groups.get("g")
        if group is None or group.state is not GroupState.STABLE:
            return
        for member in group.members.values():
            if not member.is_static:
                assert member.assignment == f"{member.member_id}@{group.generation_id}".encode()

    @invariant()
    def the_log_tells_the_same_story(self) -> None:
        play = self.play
        if play.holds_commits:
            return
        loaded = play.reloaded()
        for group_id in {*loaded.groups, *play.shard.groups}:
            assert loaded.offsets.committed(group_id) == play.shard.offsets.committed(group_id)
        live = play.shard.groups.get("g")
        if live is not None and live.state is GroupState.STABLE:
            stored = loaded.groups["g"]
            assert (stored.generation_id, stored.leader_id) == (live.generation_id, live.leader_id)
            assert {m: x.assignment for m, x in stored.members.items()} == {
                m: x.assignment for m, x in live.members.items()
            }

    def teardown(self) -> None:
        """A parked request is answered in the end, at the latest when the shard goes."""
        self.play.shard.unload()
        self.play.settle()
        assert not self.play.open_tokens


GroupLives.TestCase.settings = settings(max_examples=200, stateful_step_count=30)
TestGroupLives = GroupLives.TestCase
