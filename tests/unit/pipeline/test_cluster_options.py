import pickle

import pytest

from ottla.pipeline.cluster_options import ClusterOptions, cluster_options
from ottla.pipeline.errors import OptionError, PipelineError


def test_options_with_the_prefix_are_the_clients_properties() -> None:
    given = {
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.client.id": "me",
        "subscribe": "t",
        "kafka.Request.Timeout.ms": "9",
    }
    found = cluster_options(given)
    assert found == ClusterOptions("a:1,b:2", (("client.id", "me"), ("request.timeout.ms", "9")))
    assert (found.settings().client_id, found.settings().request_timeout_ms) == ("me", 9)


def test_a_cluster_travels_and_is_a_key() -> None:
    found = cluster_options({"kafka.bootstrap.servers": "a:1"})
    assert {pickle.loads(pickle.dumps(found)): 1} == {found: 1}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "kafka.bootstrap.servers"),
        ({"kafka.bootstrap.servers": " "}, "kafka.bootstrap.servers"),
        ({"kafka.bootstrap.servers": "a:port"}, "kafka.bootstrap.servers=a:port"),
        ({"kafka.bootstrap.servers": "a:1", "kafka.request.timeout.ms": "soon"}, "kafka.request.timeout.ms=soon"),
        ({"kafka.bootstrap.servers": "a:1", "kafka.security.protocol": "SASL_SSL"}, "kafka.security.protocol=SASL_SSL"),
    ],
)
def test_what_cannot_name_a_cluster_is_refused(given: dict[str, str], why: str) -> None:
    with pytest.raises(OptionError, match=why) as raised:
        cluster_options(given)
    assert isinstance(raised.value, PipelineError)
