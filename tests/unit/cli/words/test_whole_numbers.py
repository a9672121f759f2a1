"""A number that no request has room for is a slip of the finger like any other, whichever option it is given to."""

import re
from pathlib import Path

import pytest

import ottla.cli
from harness.ports import free_port
from ottla.cli.main import main
from ottla.cli.words.whole_numbers import int16, int32, int64

HUGE = "99999999999999999999"
ABORT = "kafka-transactions abort --topic t --partition 0 --producer-id 1"


@pytest.mark.parametrize(("parse", "bits"), [(int16, 16), (int32, 32), (int64, 64)])
def test_the_ends_of_the_range_belong_to_it_and_nothing_beyond(parse: type[int], bits: int) -> None:
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    assert (parse(str(lowest)), parse(str(highest))) == (lowest, highest)
    for beyond in (lowest - 1, highest + 1):
        with pytest.raises(ValueError, match=rf"{beyond} is not a number from {lowest} to {highest}"):
            parse(str(beyond))
    with pytest.raises(ValueError, match=r"^x is not a whole number$"):
        parse("x")


def test_every_option_that_takes_a_number_says_how_wide_it_is() -> None:
    sources = Path(ottla.cli.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if re.search(r"\btype=int\b", path.read_text())] == []


@pytest.mark.parametrize(
    "line",
    [
        f"transactions list --producer-id {HUGE}",
        f"transactions list --longer-than {HUGE}h",
        f"transactions list --longer-than {'9' * 400}h",
        f"transactions abort t:0 --start-offset {HUGE}",
        "topics create t --partitions 99999999999",
        "topics create t --replication-factor 99999",
        f"groups reset g --topic t --to {HUGE}",
        f"records delete t --before {HUGE}",
        f"consume t -o {HUGE}",
        "consume t -p 99999999999",
        f"consume t -X fetch.max.bytes={HUGE}",
        f"topics list -X request.timeout.ms={HUGE}",
        f"produce t -X transaction.timeout.ms={HUGE}",
        f"{ABORT} --producer-epoch 99999 --coordinator-epoch 0",
        f"{ABORT} --producer-epoch 5 --coordinator-epoch 99999999999",
        f"kafka-transactions list --duration-filter {HUGE}",
        "kafka-features upgrade --feature transaction.version=99999999",
        "kafka-topics --create --topic t --partitions 99999999999",
        f"kafka-console-consumer --topic t --partition 0 --offset {HUGE}",
        f"kafka-consumer-groups --group g --topic t --reset-offsets --to-offset {HUGE}",
        f"kafka-get-offsets --topic t --time {HUGE}",
    ],
)
def test_a_number_that_is_too_large_is_refused_by_name_before_anybody_is_asked(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words, servers = line.split(), ["--bootstrap-server", f"127.0.0.1:{free_port()}"]
    # Apache's tools with commands of their own take it before the command, Ottla's commands after the verb.
    at = 1 if line.startswith("kafka-") else len(words)
    try:
        code = main([*words[:at], *servers, *words[at:]])
    except SystemExit as end:
        assert isinstance(end.code, int)
        code = end.code
    told = capsys.readouterr().err
    assert code in (1, 2)
    assert re.search("999", told)
    assert "refuses connections" not in told
