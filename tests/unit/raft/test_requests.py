from ottla.raft.requests import RequestTracker


def tracker() -> RequestTracker:
    return RequestTracker(timeout_ms=50, retry_backoff_ms=10)


def test_a_peer_has_one_request_at_a_time() -> None:
    requests = tracker()
    first = requests.sent(2, 0)
    assert not requests.can_send(2, 49)
    assert requests.can_send(3, 49)
    assert requests.answered(2, first)
    assert requests.can_send(2, 49)


def test_a_request_is_given_up_after_its_timeout_and_its_late_answer_ignored() -> None:
    requests = tracker()
    first = requests.sent(2, 0)
    assert requests.can_send(2, 50)
    requests.sent(2, 50)
    assert not requests.answered(2, first)


def test_a_failed_request_is_repeated_after_a_pause() -> None:
    requests = tracker()
    requests.failed(2, requests.sent(2, 0), 5)
    assert not requests.can_send(2, 14)
    assert requests.next_deadline_ms((2,), 5) == 15
    assert requests.can_send(2, 15)
