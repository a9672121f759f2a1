import math

from prometheus_client.parser import text_string_to_metric_families

from ottla.metrics.definition import counter, gauge, histogram
from ottla.metrics.exposition import Exposition, label_text

GAUGE = gauge("a_gauge", 'Backslash \\, "quotes" and\na new line.', "path")
COUNTER = counter("things_total", "Things.")
HISTOGRAM = histogram("took_seconds", "Time.", "what")


def test_prometheus_reads_back_what_was_written() -> None:
    out = Exposition([GAUGE, COUNTER, HISTOGRAM])
    awkward = 'C:\\dir "x"\nčeština {},='
    out.add(COUNTER, 2**62)
    out.add(GAUGE, -1.5, label_text(path=awkward))
    out.add(GAUGE, float("nan"), label_text(path=""))
    out.add_part(HISTOGRAM, "_bucket", 3, label_text(what="w", le="+Inf"))
    out.add_part(HISTOGRAM, "_sum", 0.25, label_text(what="w"))
    out.add_part(HISTOGRAM, "_count", 3, label_text(what="w"))
    families = list(text_string_to_metric_families(b"".join(out.families()).decode()))
    assert [(family.name, family.type, family.documentation) for family in families] == [
        ("a_gauge", "gauge", GAUGE.text),
        ("things", "counter", "Things."),
        ("took_seconds", "histogram", "Time."),
    ]
    awkward_sample, unknown_sample = families[0].samples
    assert (awkward_sample.labels, awkward_sample.value) == ({"path": awkward}, -1.5)
    assert math.isnan(unknown_sample.value)
    assert families[1].samples[0].value == 2**62


def test_a_family_without_samples_is_left_out() -> None:
    assert list(Exposition([GAUGE]).families()) == []
