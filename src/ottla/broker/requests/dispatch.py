"""From a frame to its answer: header, version check, body, handler, encoding.

A handler module serves one API key. It exports `API_KEY`, `REQUEST` (the message class) and `handle(context, request)`,
which returns the response, or a coroutine of it. What a node advertises in ApiVersions is the list of handler modules
that exist, so nothing can be advertised that does not work.

Failures. An unknown API or version ends the connection, except that ApiVersions answers with what is supported
(KIP-511). A body that cannot be read ends the connection. An `ApiError` that a handler lets through, or a bug, becomes
the error response of that API if its handler can make one (`error_response`), and ends the connection otherwise.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ottla.broker.network.rejections import Rejections
from ottla.broker.network.request_budget import RequestBudget
from ottla.broker.network.response_budget import ResponseBudget
from ottla.broker.requests.produce_run import ProduceRun, serve_run
from ottla.broker.requests.request_context import CloseConnection, RequestContext
from ottla.broker.requests.request_slices import SliceRule, answer_in_slices, rule_for, slice_above_bytes
from ottla.broker.requests.unserved_apis import UnservedApi
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode_at, encode_parts
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.header import read_request_header, response_header
from ottla.protocol.messages.produce_request import ProduceRequest
from ottla.protocol.produce_form import ProduceForms
from ottla.protocol.response_frame import framed
from ottla.protocol.schema import Message, Records
from ottla.security.authorizer import AllowEverything, Authorizer
from ottla.security.permissions import PERMISSIONS, Permission

if TYPE_CHECKING:
    from ottla.broker.host import Host
    from ottla.broker.network.connection import Connection
    from ottla.broker.services import Services

logger = logging.getLogger("ottla.broker.dispatch")

# None: the client wants no answer (Produce with acks=0).
Answer: TypeAlias = "list[Records] | None"
# To the requests of a run, in their order; None: that one is to be dispatched by itself.
RunAnswers: TypeAlias = "list[bytes | None]"


# Requests whose bytes are mostly records or a group's own data, which stay unopened, may be as large as
# socket.request.max.bytes. All others are made of small parts, each of which becomes an object many times its size. The
# largest honest ones, offsets of a hundred thousand partitions, stay below this limit.
OBJECT_REQUEST_BYTES_MAX = 10 * 1024 * 1024
# The same bound by number, for parts of a few bytes; the requests with unopened bytes have few parts beside them.
REQUEST_ELEMENTS_MAX = 300_000
OPAQUE_REQUEST_ELEMENTS_MAX = 50_000
# A larger request of small parts takes longer to read than others should wait, so it is read beside the loop.
READ_ASIDE_BYTES = 128 * 1024
_PRODUCE = int(ApiKey.PRODUCE)
_OPAQUE_REQUESTS = frozenset({ApiKey.PRODUCE, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})


class HandlerModule(Protocol):
    """The shape of a module in ottla.broker.handlers."""

    API_KEY: int
    REQUEST: type[Message]

    def handle(self, context: RequestContext, request: Any, /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Api:
    """One API that is served."""

    key: int
    request: type[Message]
    versions: range
    handle: Callable[[RequestContext, Any], Any]
    error_response: Callable[[RequestContext, Any, ApiError], Message] | None
    permission: Permission
    # Whether its bytes are mostly what stays unopened.
    is_opaque: bool
    elements_max: int
    # No smaller request is cut into slices.
    slice_above_bytes: int


class Dispatcher:
    """Turns frames into answers for all connections of a node.

    `services` is set before the first connection is taken, and not earlier: what a handler reaches is assembled from
    parts that need the bound sockets.
    """

    services: Services
    authorizer: Authorizer = AllowEverything()

    def __init__(
        self, modules: list[HandlerModule], host: Host, permissions: Mapping[ApiKey, Permission] = PERMISSIONS
    ) -> None:
        """The table of APIs of one kind of listener, and what each of them asks for there."""
        self.apis: dict[int, Api] = {
            module.API_KEY: _describe_api(module, permissions[ApiKey(module.API_KEY)]) for module in modules
        }
        self._flexible_from = {key: api.request.FLEXIBLE_FROM for key, api in self.apis.items()}
        self._produce_forms = ProduceForms()
        self.rejections = Rejections()
        self.response_budget = ResponseBudget()
        self.request_budget = RequestBudget()
        # One, since more would only take the interpreter from each other and from the loop.
        self._codec_thread = host.thread_pool(1, "codec")
        self._slice_turn = asyncio.Lock()

    def close(self) -> None:
        """Nobody waits any more for what was still to be read or written."""
        self._codec_thread.shutdown(cancel_futures=True)

    def dispatch(self, connection: Connection, frame: bytearray) -> Answer | asyncio.Future[Answer]:
        """The answer to a request, or its future."""
        context, position = self._read_context(connection, frame)
        api_key, api_version = context.api_key, context.api_version
        api = self.apis.get(api_key)
        if api is None:
            raise UnservedApi(api_key, context.client_id)
        if api_version not in api.versions:
            return self._refuse_version(api, context)
        frame_bytes = len(frame)
        if frame_bytes > READ_ASIDE_BYTES and not api.is_opaque:
            if frame_bytes > OBJECT_REQUEST_BYTES_MAX:
                raise CloseConnection(
                    f"{api.request.__name__} of {frame_bytes} bytes; the limit for it is {OBJECT_REQUEST_BYTES_MAX}"
                )
            return self.services.tasks.start(self._read_aside(api, context, frame, position))
        request, _ = decode_at(api.request, frame, api_version, position, api.elements_max)
        if isinstance(request, ProduceRequest):
            self._produce_forms.learn(frame, api_version, position, request)
        if frame_bytes > api.slice_above_bytes:
            rule = rule_for(api_key, request, frame_bytes)
            if rule is not None:
                return self.services.tasks.start(self._answer_aside(api, context, request, rule))
        result = self._handle(api, context, request)
        if isinstance(result, Message):
            return self._encode(api, context, result)
        if result is None:
            return None
        return self._defer(api, context, request, result)

    def dispatch_run(
        self, connection: Connection, first: bytearray, following: Iterable[bytearray]
    ) -> RunAnswers | asyncio.Future[RunAnswers]:
        """The answers to a Produce request and to those that follow it, as many as can be served the straight way.

        A None among them stands for a request that is to be dispatched by itself.
        """
        api = self.apis.get(_PRODUCE)
        if api is None or not self.authorizer.is_allowed(connection.principal, api.permission):
            return []
        run = self._serve_run(first, following)
        return self._finish_run(connection, api, run) if run.waiting else run.answers

    def _serve_run(self, first: bytearray, following: Iterable[bytearray]) -> ProduceRun:
        return serve_run(self.services, self._produce_forms, first, following)

    def _finish_run(self, connection: Connection, api: Api, run: ProduceRun) -> asyncio.Future[RunAnswers]:
        async def finish() -> RunAnswers:
            for place, error in (await run.refusals()).items():
                run.answers[place] = self._refuse(connection, api, run.requests[place].frame, error)
            return run.answers

        return self.services.tasks.start(finish())

    def _refuse(self, connection: Connection, api: Api, frame: bytearray, error: ApiError) -> bytes:
        """The answer to a request that has to be refused, and has not been read yet."""
        context, position = self._read_context(connection, frame)
        request, _ = decode_at(api.request, frame, context.api_version, position, api.elements_max)
        answer = self._encode(api, context, self._answer_failure(api, context, request, error))
        assert answer is not None
        return b"".join(answer)

    def _read_context(self, connection: Connection, frame: bytearray) -> tuple[RequestContext, int]:
        """Who asks for what, and where the body of the request begins."""
        api_key, api_version, correlation_id, client_id, position = read_request_header(frame, self._flexible_from)
        context = RequestContext(
            api_key,
            api_version,
            client_id,
            connection.client_host,
            connection.listener,
            connection.principal,
            self.services,
            correlation_id,
            connection,
        )
        return context, position

    async def answer(self, context: RequestContext, frame: bytearray, position: int) -> Message | None:
        """The response to a request that came inside another one, whose body begins at a position; MalformedMessage if
        it cannot be read."""
        api = self.apis[context.api_key]
        if len(frame) > READ_ASIDE_BYTES:
            request, _ = await asyncio.get_running_loop().run_in_executor(
                self._codec_thread, decode_at, api.request, frame, context.api_version, position, api.elements_max
            )
        else:
            request, _ = decode_at(api.request, frame, context.api_version, position, api.elements_max)
        result = self._handle(api, context, request)
        is_final = result is None or isinstance(result, Message)
        return result if is_final else await self._await_handler(api, context, request, result)

    async def _read_aside(self, api: Api, context: RequestContext, frame: bytearray, position: int) -> Answer:
        loop = asyncio.get_running_loop()
        request, _ = await loop.run_in_executor(
            self._codec_thread, decode_at, api.request, frame, context.api_version, position, api.elements_max
        )
        rule = rule_for(context.api_key, request, len(frame))
        return await self._answer_aside(api, context, request, rule)

    async def _answer_aside(
        self, api: Api, context: RequestContext, request: Message, rule: SliceRule | None
    ) -> Answer:
        """A large request: handled in slices where its kind can be, its answer written beside the loop."""

        def answer(piece: Message) -> Any:
            result = self._handle(api, context, piece)
            is_final = result is None or isinstance(result, Message)
            return result if is_final else self._await_handler(api, context, piece, result)

        if rule is not None:
            response = await answer_in_slices(request, rule, answer, self._slice_turn, self.services.host.monotonic_s)
        else:
            response = answer(request)
            if inspect.isawaitable(response):
                response = await response
        return None if response is None else await self._encode_aside(api, context, response)

    async def _encode_aside(self, api: Api, context: RequestContext, response: Message) -> Answer:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._codec_thread, self._encode, api, context, response)

    def _handle(self, api: Api, context: RequestContext, request: Message) -> Any:
        """What the handler returns; the error response if it fails at once."""
        try:
            if not self.authorizer.is_allowed(context.principal, api.permission):
                raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, f"{context.principal} may not do this")
            return api.handle(context, request)
        except CloseConnection:
            raise
        except Exception as error:  # noqa: BLE001 - one request must not take the connection's others with it
            return self._answer_failure(api, context, request, error)

    async def _await_handler(self, api: Api, context: RequestContext, request: Message, result: Any) -> Message | None:
        try:
            response: Message | None = await result
        except CloseConnection:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            return self._answer_failure(api, context, request, error)
        return response

    def _defer(self, api: Api, context: RequestContext, request: Message, result: Any) -> asyncio.Future[Answer]:
        async def finish() -> Answer:
            response = await self._await_handler(api, context, request, result)
            if response is None:
                return None
            return (
                await self._encode_aside(api, context, response)
                if context.is_large
                else self._encode(api, context, response)
            )

        assert inspect.isawaitable(result)
        return self.services.tasks.start(finish())

    def _answer_failure(self, api: Api, context: RequestContext, request: Message, error: Exception) -> Message:
        if not isinstance(error, ApiError):
            logger.error("%s v%d failed", api.request.__name__, context.api_version, exc_info=error)
            error = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "The broker failed; its log has the reason")
        if api.error_response is None:
            raise CloseConnection(f"{api.request.__name__} cannot be answered: {error}")
        return api.error_response(context, request, error)

    def _refuse_version(self, api: Api, context: RequestContext) -> Answer:
        if context.api_key != ApiKey.API_VERSIONS or api.error_response is None:
            raise CloseConnection(
                f"{api.request.__name__} v{context.api_version} is not served: "
                f"versions {api.versions.start}-{api.versions.stop - 1} are"
            )
        error = ApiError(ErrorCode.UNSUPPORTED_VERSION)
        response = api.error_response(context, api.request(), error)
        header = response_header(context.api_key, context.correlation_id, is_flexible=False)
        return framed(encode_parts(response, 0, header))

    def _encode(self, api: Api, context: RequestContext, response: Message) -> Answer:
        version = context.api_version
        is_flexible = version >= api.request.FLEXIBLE_FROM
        header = response_header(context.api_key, context.correlation_id, is_flexible=is_flexible)
        return framed(encode_parts(response, version, header))


def _describe_api(module: HandlerModule, permission: Permission) -> Api:
    versions = module.REQUEST.VERSIONS
    if module.REQUEST.LATEST_VERSION_UNSTABLE:
        versions = versions[:-1]
    is_opaque = module.API_KEY in _OPAQUE_REQUESTS
    return Api(
        module.API_KEY,
        module.REQUEST,
        versions,
        module.handle,
        getattr(module, "error_response", None),
        permission,
        is_opaque,
        OPAQUE_REQUEST_ELEMENTS_MAX if is_opaque else REQUEST_ELEMENTS_MAX,
        slice_above_bytes(module.API_KEY),
    )
