import asyncio

from prometheus_client.parser import text_string_to_metric_families

from ottla import __version__
from ottla.metrics.exposition import Exposition
from ottla.metrics.process_samples import PROCESS, add_process


def test_every_metric_of_the_process_has_a_sample() -> None:
    async def gather() -> str:
        out = Exposition(PROCESS)
        await add_process(out, 1000.0)
        return b"".join(out.families()).decode()

    samples = {
        sample.name: sample
        for family in text_string_to_metric_families(asyncio.run(gather()))
        for sample in family.samples
    }
    assert samples.keys() == {metric.name for metric in PROCESS}
    assert samples["process_start_time_seconds"].value == 1000.0
    assert samples["process_resident_memory_bytes"].value > 2**20
    assert samples["ottla_build_info"].labels["version"] == __version__
