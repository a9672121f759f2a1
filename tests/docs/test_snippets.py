"""What the documentation shows is run, each document from a server without topics."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from harness.documents import ROOT, run_document
from harness.servers import Server

PRINTED = {
    "README.md": "dobrý den\n",
    "docs/tutorial/first-steps.md": "30 orders from 3 partitions\n",
    "docs/how-to/use-the-python-client.md": "orders 0\n31 orders\nTrue\nTrue\nTrue\nTrue\norders\n",
    "docs/how-to/use-transactions.md": (
        "the till is closed\n10 payments\n10 receipts\n"
        "commit_transaction is not possible now: no transaction is open: call begin_transaction first\n"
        "10 reminders\nclosed\n"
    ),
    "docs/how-to/process-exactly-once-with-confluent-kafka.md": "10 receipts\n",
    "docs/how-to/change-topics-safely.md": "",
    "docs/explanation/life-of-a-log.md": "",
    "docs/explanation/compaction.md": "",
    "docs/how-to/look-at-and-replay-records.md": "",
    "docs/reference/cli/topics.md": "",
    "docs/reference/cli/configs.md": "",
    "docs/reference/cli/cluster.md": "",
    "docs/reference/cli/kafka-admin.md": "",
    "docs/reference/cli/consume.md": "",
    "docs/reference/cli/produce.md": "",
    "docs/reference/cli/perf.md": "",
    "docs/reference/cli/verify.md": "",
    "docs/reference/cli/kafka-data.md": "",
    "docs/how-to/move-a-consumer-group.md": "",
    "docs/reference/cli/groups.md": "",
    "docs/reference/cli/offsets.md": "",
    "docs/reference/cli/transactions.md": "",
    "docs/reference/cli/records.md": "",
    "docs/reference/cli/storage.md": "",
    "docs/reference/cli/completion.md": "",
    "docs/reference/cli/log.md": "",
    "docs/reference/cli/kafka-groups.md": "",
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_document_does_what_it_shows(
    name: str, start_server: Callable[..., Server], capsys: pytest.CaptureFixture[str]
) -> None:
    # As a reader has it: one partition for topics that appear by themselves.
    server = start_server({"num.partitions": "1"})
    run_document((ROOT / name).read_text(encoding="utf-8"), server.bootstrap)
    assert capsys.readouterr().out == PRINTED[name]


def test_the_example_shows_a_conversation_and_finds_its_records_again(start_server: Callable[..., Server]) -> None:
    server = start_server()

    def run() -> str:
        command = [sys.executable, str(ROOT / "examples" / "hello.py"), server.bootstrap]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    first, second = run(), run()
    assert "created   topic 'hello'" in first
    assert "found     topic 'hello' with 6 records" in second
    assert first.count("consumed") == second.count("consumed") == 6
