"""The how-to of the registry, as a reader goes through it: files written, registries started, clients asking them."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from harness.certificates import Authority
from harness.documents import BLOCK, OTTLA, ROOT
from harness.ports import free_port
from harness.registry_command import running_registry
from harness.servers import Server
from ottla.registry.metrics.catalogue import FAMILIES

HOW_TO = ROOT / "docs" / "how-to" / "run-a-registry.md"
SHOWN_ADDRESS = re.compile(r"127\.0\.0\.1:(\d+)")
PRINTED = "1\n\"string\"\n['greetings-value']\n403\n"


def with_own_addresses(text: str, bootstrap: str) -> str:
    """Each address that is shown becomes one that is free."""
    addresses = {"9092": bootstrap} | {
        port: f"127.0.0.1:{free_port()}" for port in set(SHOWN_ADDRESS.findall(text)) - {"9092"}
    }
    return SHOWN_ADDRESS.sub(lambda match: addresses[match[1]], text)


@pytest.mark.timeout(240)
def test_registries_do_what_the_how_to_shows(
    tmp_path: Path,
    start_server: Callable[..., Server],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bootstrap = start_server().bootstrap
    text = with_own_addresses(HOW_TO.read_text(encoding="utf-8"), bootstrap)
    default = re.search(r"listens on (127\.0\.0\.1:\d+), for this machine alone", text)
    page = re.search(r"--metrics (\S+)", text)
    assert default is not None
    assert page is not None
    monkeypatch.chdir(tmp_path)
    # What the commands of openssl are for.
    authority = Authority()
    Path("authority.pem").write_bytes(authority.pem())
    Path("registry.p12").write_bytes(authority.issue("registry").pkcs12("changeit"))
    variables: dict[str, object] = {}
    printed = ""
    with ExitStack() as closing:
        for language, block in BLOCK.findall(text):
            if language == "properties":
                Path(block.splitlines()[0].removeprefix("# ")).write_text(block, encoding="utf-8")
            elif language == "console" and (command := re.search(r"^ottla registry (.*)$", block, re.MULTILINE)):
                arguments = shlex.split(command[1])
                own = {"listeners": f"http://{default[1]}"} if arguments[0] == "-b" else {}
                closing.enter_context(
                    running_registry(bootstrap, tmp_path / "log", own, *arguments, has_defaults=False)
                )
            elif language == "python":
                exec(compile(block, str(HOW_TO), "exec"), variables)
            elif language == "sh":
                python = f'python() {{ {shlex.quote(sys.executable)} "$@"; }}'
                shell = ["bash", "-euo", "pipefail", "-c", f"{OTTLA}\n{python}\n{block}"]
                printed = subprocess.run(shell, capture_output=True, text=True, check=True).stdout
            elif language == "":
                assert printed == block
        for client in variables.values():
            if isinstance(client, SchemaRegistryClient):
                closing.push(client)
        assert "kafka_schema_registry_master_slave_role" in httpx.get(f"http://{page[1]}/metrics").text
    assert capsys.readouterr().out == PRINTED


def test_the_how_to_asks_for_metrics_that_exist() -> None:
    asked = set(re.findall(r"\b(?:kafka_schema|ottla)_registry_[a-z0-9_]+", HOW_TO.read_text(encoding="utf-8")))
    assert len(asked) >= 5
    assert asked <= {metric.name for metric in FAMILIES}
