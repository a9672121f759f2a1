"""`ottla registry` from the shell: what it says, what it exits with, and its page of metrics."""

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from confluent_kafka import Producer
from prometheus_client.parser import text_string_to_metric_families

from harness.ports import free_port
from harness.registry_command import registry_arguments, running_registry, until_someone_leads
from harness.waiting import eventually
from ottla.cli.main import main
from ottla.registry.metrics.catalogue import FAMILIES
from ottla.testing import EmbeddedCluster

ANY_PORT = "listeners=http://127.0.0.1:0"


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with EmbeddedCluster() as cluster:
        yield cluster.bootstrap_servers


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--override", "x"], 2, "write KEY=VALUE"),
        (["--metrics", "here"], 2, "--metrics here: write HOST:PORT"),
        (["/no/such.properties"], 1, "Cannot read /no/such.properties"),
        (["--override", "schema.compatibility.level=SOME"], 1, "Invalid value SOME for configuration schema.compat"),
        (["--override", "listeners=https://127.0.0.1:0"], 1, "ssl.keystore.location is not set"),
        (["-b", "a:b"], 1, "kafkastore.bootstrap.servers: 'a:b' is not an address"),
        (["-X", "security.protocol=SASL_SSL"], 1, "kafkastore.security.protocol=SASL_SSL"),
        (
            ["--override", "listeners=https://127.0.0.1:0", "--override", "ssl.keystore.location=/no/such.p12"],
            1,
            "ssl.keystore.location=/no/such.p12: No such file or directory",
        ),
        (
            ["--override", "authentication.method=BASIC", "--override", "authentication.users.file=/no/such"],
            1,
            "Cannot read /no/such",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["registry", *arguments]) == code
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("ottla registry: ")
    assert error.count("\n") == 1


def test_a_port_that_is_taken_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["registry", "--override", f"listeners=http://127.0.0.1:{port}"]) == 1
        assert f"Cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err
        assert main(["registry", "--override", ANY_PORT, "--metrics", f"127.0.0.1:{port}"]) == 1
        assert f"--metrics 127.0.0.1:{port}: the port is in use" in capsys.readouterr().err


def test_brokers_that_do_not_come_end_it_after_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = f"127.0.0.1:{free_port()}"
    overrides = ["--override", ANY_PORT, "--override", "kafkastore.init.timeout.ms=600"]
    assert main(["registry", "-b", brokers, *overrides]) == 5
    error = capsys.readouterr().err
    assert f"brokers at {brokers} within 600 ms (kafkastore.init.timeout.ms)" in error
    assert "names the brokers to ask first" in error


def test_a_topic_that_would_forget_schemas_is_refused_with_the_command_that_corrects_it(bootstrap: str) -> None:
    assert main(["topics", "create", "forgetful", "-b", bootstrap, "-p", "1"]) == 0
    command = registry_arguments({"listeners": "http://127.0.0.1:0", "kafkastore.topic": "forgetful"})
    done = subprocess.run([*command, "-b", bootstrap], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "ottla configs alter topics forgetful --set cleanup.policy=compact" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_and_stops_in_order(bootstrap: str, tmp_path: Path, number: int) -> None:
    file = tmp_path / "schema-registry.properties"
    file.write_text("kafkastore.bootstrap.servers=127.0.0.1:1\nthread.pool.max=9\nlistener=x\n", encoding="utf-8")
    with running_registry(bootstrap, tmp_path / "log", None, str(file)) as registry:
        assert registry.announced["bootstrap"] == bootstrap
        assert registry.announced["topic"] == "_schemas"
        assert httpx.get(f"{registry.url}/subjects").json() == []
        assert registry.stop(number) == 0
    log = registry.log.read_text(encoding="utf-8")
    assert "did you mean listeners?" in log
    assert "Without effect here: thread.pool.max" in log
    assert "Traceback" not in log


def test_its_metrics_are_about_what_it_has_and_what_it_was_asked(bootstrap: str, tmp_path: Path) -> None:
    own = {"kafkastore.topic": "_measured", "schema.registry.group.id": "measured"}
    with (
        running_registry(bootstrap, tmp_path / "log", own, "--metrics", "127.0.0.1:0") as registry,
        httpx.Client() as client,
    ):
        until_someone_leads(client, registry.url)
        for name, kind in (("a", "AVRO"), ("b", "JSON"), ("c", "AVRO")):
            body = {"schema": '"int"' if kind == "AVRO" else "{}", "schemaType": kind}
            assert client.post(f"{registry.url}/subjects/{name}/versions", json=body).status_code == 200
        assert client.delete(f"{registry.url}/subjects/c").status_code == 200
        assert client.get(f"{registry.url}/subjects/nobody/versions").status_code == 404
        producer = Producer({"bootstrap.servers": bootstrap})
        producer.produce("_measured", value=b"not a schema", key=b"not a key")
        producer.flush()
        skipped = "ottla_registry_skipped_records_total 1\n"
        page = eventually(lambda: client.get(registry.announced["metrics"]).text, lambda text: skipped in text)
        assert registry.stop(signal.SIGTERM) == 0
    families = list(text_string_to_metric_families(page))
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value for family in families for sample in family.samples
    }
    jmx = "kafka_schema_registry"
    assert samples[f"{jmx}_registered_count",] == 3
    assert samples[f"{jmx}_deleted_count",] == 1
    assert samples[f"{jmx}_schemas_created", "avro"] == 2
    assert samples[f"{jmx}_schemas_deleted", "avro"] == 1
    assert samples[f"{jmx}_schemas_created", "json"] == 1
    assert samples[f"{jmx}_master_slave_role",] == 1
    assert samples[f"{jmx}_jetty_metrics_connections_active",] >= 1
    assert samples["ottla_registry_requests_total", "200", "subjects.versions.register"] == 3
    assert samples["ottla_registry_requests_total", "404", "subjects.versions.list"] == 1
    assert samples["ottla_registry_request_duration_seconds_count", "subjects.versions.register"] == 3
    assert samples[f"{jmx}_jersey_metrics_subjects_versions_register_request_latency_99",] > 0
    assert samples[f"{jmx}_jersey_metrics_request_rate",] > 0
    # The parser wants counters to end in _total, and helps where the JMX exporter's do not.
    assert samples[f"{jmx}_api_failure_count_total",] >= 1
    known = {metric.name.removesuffix("_total") for metric in FAMILIES}
    assert {family.name for family in families} <= known
