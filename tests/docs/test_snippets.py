"""What the documentation shows is run: all pages one after the other, on one node, as a reader goes through them.

Once in the order in which the index names them and once the other way round. A page that takes a name which another one
has used fails in one of the two, and so does a page that lives on what another one has left behind.
"""

import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.documents import ROOT, run_document
from harness.registries import running_registries
from harness.servers import Server

PRINTED = {
    "README.md": "dobrý den\n",
    "docs/tutorial/first-steps.md": "30 orders from 3 partitions\n",
    "docs/tutorial/typed-topic.md": "1 250 CZ None\n2 1200 CZ None\n3 90 AT None\n",
    "docs/how-to/use-confluents-serializers.md": "['visits-value']\n",
    "docs/how-to/move-a-registry.md": "",
    "docs/how-to/use-the-python-client.md": "trades 0\n31 trades\nTrue\nTrue\nTrue\nTrue\ntrades\n",
    "docs/how-to/use-transactions.md": (
        "the till is closed\n10 payments\n10 receipts\n"
        "commit_transaction is not possible now: no transaction is open: call begin_transaction first\n"
        "10 reminders\nclosed\n"
    ),
    "docs/how-to/process-exactly-once-with-confluent-kafka.md": "10 postings\n",
    "docs/how-to/change-topics-safely.md": "",
    "docs/explanation/life-of-a-log.md": "",
    "docs/explanation/compaction.md": "",
    "docs/how-to/look-at-and-replay-records.md": "",
    "docs/reference/cli/topics.md": "",
    "docs/reference/cli/leaders.md": "",
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
    "docs/reference/cli/schemas.md": "",
    "docs/how-to/use-schemas-from-the-command-line.md": "",
    "docs/reference/cli/log.md": "",
    "docs/reference/cli/kafka-groups.md": "",
}
LINK = re.compile(r"\]\(([^):#]+\.md)")


def pages_in_order(page: Path, seen: set[Path]) -> Iterator[str]:
    """The page and all that it links to, each once, as someone comes across them who follows every link."""
    if page in seen:
        return
    seen.add(page)
    if (name := str(page.relative_to(ROOT))) in PRINTED:
        yield name
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        yield from pages_in_order((page.parent / target).resolve(), seen)


READING_ORDER = [*pages_in_order(ROOT / "README.md", set())]


def show_examples(bootstrap: str) -> None:
    """What `make run` leaves on a node; of the pipeline only its topics and records, since this needs no Spark."""
    command = [sys.executable, str(ROOT / "examples" / "hello.py"), bootstrap]
    subprocess.run(command, capture_output=True, check=True, timeout=60)
    pipeline = runpy.run_path(str(ROOT / "examples" / "pipeline.py"))
    pipeline["create_topics"](bootstrap)
    pipeline["produce_orders"](bootstrap)


def test_every_page_is_read() -> None:
    assert set(READING_ORDER) == set(PRINTED)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("is_reversed", [False, True], ids=["in order", "in reverse"])
def test_the_documents_do_what_they_show_one_after_the_other(
    is_reversed: bool, start_server: Callable[..., Server], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # As a reader has it: one partition for topics that appear by themselves.
    server = start_server({"num.partitions": "1"})
    show_examples(server.bootstrap)
    capsys.readouterr()
    failures = []
    with running_registries(tmp_path, server.bootstrap) as (registry,):
        for name in reversed(READING_ORDER) if is_reversed else READING_ORDER:
            try:
                run_document((ROOT / name).read_text(encoding="utf-8"), server.bootstrap, registry=registry.url)
                assert capsys.readouterr().out == PRINTED[name]
            except Exception as failure:  # noqa: BLE001 - the rest is read all the same
                failures.append(f"{name}: {failure}")
    assert failures == [], "\n".join(failures)


def test_the_example_shows_a_conversation_and_finds_its_records_again(start_server: Callable[..., Server]) -> None:
    server = start_server()

    def run() -> str:
        command = [sys.executable, str(ROOT / "examples" / "hello.py"), server.bootstrap]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout

    first, second = run(), run()
    assert "created   topic 'hello'" in first
    assert "found     topic 'hello' with 6 records" in second
    assert first.count("consumed") == second.count("consumed") == 6
