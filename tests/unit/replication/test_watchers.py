"""Who is told what."""

from ottla.replication.watchers import NOT_URGENT, Interest, Watchers


class Three:
    """One watcher of each kind."""

    def __init__(self) -> None:
        self.watchers = Watchers()
        self.heard: dict[Interest, list[int]] = {interest: [] for interest in Interest}
        for interest, heard in self.heard.items():
            self.watchers.add(heard.append, interest)

    def told(self) -> tuple[list[int], list[int], list[int]]:
        return self.heard[Interest.VISIBLE], self.heard[Interest.STABLE], self.heard[Interest.APPENDED]


def test_a_follower_hears_of_the_append_and_consumers_of_the_commit() -> None:
    three = Three()
    three.watchers.appended(70)
    assert three.told() == ([], [], [70])
    three.watchers.committed(70)
    assert three.told() == ([70], [], [70, NOT_URGENT])
    three.watchers.stabilised(70)
    assert three.told() == ([70], [70], [70, NOT_URGENT])


def test_data_is_never_told_as_nothing() -> None:
    three = Three()
    three.watchers.committed(0)
    three.watchers.stabilised(0)
    assert three.told() == ([1], [1], [NOT_URGENT])


def test_everybody_is_woken_when_something_else_changes() -> None:
    three = Three()
    three.watchers.wake_all()
    assert three.told() == ([0], [0], [0])


def test_a_watcher_that_goes_while_others_are_told_disturbs_nobody() -> None:
    watchers = Watchers()
    heard: list[str] = []

    def first(_: int) -> None:
        heard.append("first")
        watchers.remove(first)

    watchers.add(first, Interest.VISIBLE)
    watchers.add(lambda _: heard.append("second"), Interest.VISIBLE)
    watchers.committed(1)
    watchers.committed(1)
    assert heard == ["first", "second", "second"]
