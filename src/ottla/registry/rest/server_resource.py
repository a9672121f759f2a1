"""The registry itself: who it is, and which release."""

from __future__ import annotations

from starlette.responses import Response

from ottla import __version__
from ottla.registry.rest.answers import answer
from ottla.registry.rest.call import Call


async def get_root(_call: Call) -> Response:
    return answer({})


async def get_cluster_ids(call: Call) -> Response:
    clusters = {"kafka-cluster": call.registry.cluster_id, "schema-registry-cluster": call.registry.group_id}
    return answer({"scope": {"path": [], "clusters": clusters}, "id": ""})


async def get_release(_call: Call) -> Response:
    return answer({"version": __version__, "commitId": "unknown"})


async def get_deployment(_call: Call) -> Response:
    return answer({"attributes": ["opensource"]})
