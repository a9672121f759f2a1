"""Writes docs/reference/registry-api.md from the table of requests; `--check` only tells whether it is fresh."""

import sys
from collections.abc import Iterator
from pathlib import Path

from ottla.registry.errors import MEANINGS
from ottla.registry.rest.endpoints import BODY_CODES, ENDPOINTS, LEADER_CODES, SECTIONS, Endpoint
from ottla.registry.rest.parameters import Parameter
from ottla.schemas.references import COUNT_MAX, DEPTH_MAX
from reference_page import write_or_check

REFERENCE = Path(__file__).parent.parent / "docs" / "reference" / "registry-api.md"


def _codes(codes: tuple[int, ...]) -> str:
    return ", ".join(map(str, codes))


INTRODUCTION = f"""\
# The registry's REST API

What `ottla registry` answers: the paths, parameters and codes of Confluent's Schema Registry, so that its clients work
unchanged. Not there: exporters, associations, and keys for the encryption of fields.

- Requests with a body want a JSON object, as `application/vnd.schemaregistry.v1+json`,
  `application/vnd.schemaregistry+json`, `application/json` or `application/octet-stream`. Fields that are not known are
  ignored, and so are parameters that are not known. Answers are `application/vnd.schemaregistry.v1+json`.
- A flag is true if its value is `true`, and false otherwise.
- A subject with other letters than those of a path has them encoded: `a%2Fb`. One of a context is written
  `:.context:subject`; where settings are concerned, `:.context:` alone means the whole context. A base URL may name a
  context, too: `http://127.0.0.1:8081/contexts/.sales` before any path means the subjects of `.sales`.
- A version is a number, `latest` or `-1`.
- An error is `{{"error_code": CODE, "message": "..."}}`; the first three digits of the code are the HTTP status.
- Every request with a body may also answer {_codes(BODY_CODES)}. Every request that is marked **leader** is carried
  out by the instance that leads, whichever is asked, and may also answer {_codes(LEADER_CODES)}.
- References go at most {DEPTH_MAX} schemas deep, and to at most {COUNT_MAX} in all.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield INTRODUCTION.rstrip()
    for title, endpoints in SECTIONS.items():
        yield f"\n## {title}\n"
        yield "| request | what it does | parameters | codes of its own |"
        yield "| --- | --- | --- | --- |"
        for endpoint in endpoints:
            yield _row(endpoint)
    yield "\n## Parameters\n"
    yield "| name | value | meaning |"
    yield "| --- | --- | --- |"
    for parameter in _parameters():
        yield f"| `{parameter.name}` | {parameter.kind} | {parameter.meaning} |"
    yield "\n## Codes\n"
    yield "| code | meaning |"
    yield "| --- | --- |"
    for code, meaning in MEANINGS.items():
        yield f"| {code} | {meaning} |"


def _row(endpoint: Endpoint) -> str:
    names = ", ".join(f"`{one.name}`" for one in endpoint.parameters)
    leader = " **leader**" if endpoint.is_led else ""
    return f"| `{endpoint.method} {endpoint.path}` | {endpoint.purpose}{leader} | {names} | {_codes(endpoint.codes)} |"


def _parameters() -> list[Parameter]:
    used = {parameter.name: parameter for endpoint in ENDPOINTS for parameter in endpoint.parameters}
    return [used[name] for name in sorted(used)]


if __name__ == "__main__":
    sys.exit(write_or_check(REFERENCE, reference()))
