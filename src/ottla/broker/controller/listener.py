"""The listeners of a node's controller: other nodes reach the metadata quorum here, and tools the controller.

They are opened as soon as the metadata log runs, since without votes there is no leader to wait for. The APIs are those
of controllers; a broker's data is not served here.
"""

from __future__ import annotations

from typing import cast

from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.broker.controller.controller import Controller
from ottla.broker.controller.dead_brokers import DeadBrokers
from ottla.broker.controller.registration import ControllerRegistration
from ottla.broker.controller.role import ControllerRole
from ottla.broker.handlers import load_handlers
from ottla.broker.host import Host
from ottla.broker.network.socket_server import SocketServer
from ottla.broker.quorum import ImageReader, MetadataLog
from ottla.broker.requests.dispatch import Dispatcher
from ottla.broker.services import ClusterMetadata, NodeServices, Services
from ottla.broker.tasks import Tasks
from ottla.broker.topic_creation import TopicCreation
from ottla.config.broker_config import BrokerConfig
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.protocol.listener_kinds import ListenerKind
from ottla.protocol.messages.controller_registration_request import Listener
from ottla.raft import VoterEndpoint
from ottla.security.permissions import CONTROLLER_PERMISSIONS


class ControllerListener:
    def __init__(self, config: BrokerConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self._tasks = Tasks()
        self._dispatcher = Dispatcher(load_handlers(ListenerKind.CONTROLLER), host, CONTROLLER_PERMISSIONS)
        self._dispatcher.request_budget.limit_bytes = config.get_int("queued.max.request.bytes")
        self.socket_server = SocketServer(config.controller_listeners, config, self._dispatcher, self._tasks, host)
        self._followed: ImageReader | None = None
        self._registration: ControllerRegistration | None = None

    async def bind(self) -> None:
        """Binds the addresses; ListenFailed if one is busy."""
        await self.socket_server.start()

    @property
    def endpoints(self) -> tuple[VoterEndpoint, ...]:
        """Where other nodes reach this one, with the ports that are really bound."""
        ports = {acceptor.listener.name: acceptor.port for acceptor in self.socket_server}
        return tuple(
            VoterEndpoint(listener.name, listener.host, listener.port or ports[listener.name])
            for listener in self._config.advertised_controller_listeners
        )

    def serve(
        self, cluster_id: str, log: MetadataLog, controller: ControllerRole, active_controller: Controller
    ) -> None:
        """Accepts connections from now on; ListenFailed if another process began to listen meanwhile.

        `active_controller` is the one that decides, wherever it runs.
        """
        self._followed = log.reader()
        self._followed.start(self._follow, "controller listener")
        detects_death = self._config.get_bool("ottla.dead.peer.detection.enable")
        services = NodeServices(
            cluster_id=cluster_id,
            config=self._config,
            served_versions={key: api.versions for key, api in self._dispatcher.apis.items()},
            host=self._host,
            tasks=self._tasks,
            metadata=ClusterMetadata(
                log=log,
                followed=self._followed,
                controller=controller,
                controller_role=controller,
                dead_brokers=DeadBrokers(controller, log, self._tasks) if detects_death else None,
                topic_creation=TopicCreation(controller, self._tasks),
                dynamic_configs=DynamicConfigs(self._config),
            ),
            dispatcher=self._dispatcher,
        )
        # The handlers in the table of controllers use nothing that only a broker has.
        self._dispatcher.services = cast(Services, services)
        self.socket_server.serve(self._config)
        if self.endpoints:
            self._register(active_controller)

    def _register(self, active_controller: Controller) -> None:
        protocols = {listener.name: listener.security_protocol_id for listener in self._config.controller_listeners}
        self._registration = ControllerRegistration(
            active_controller,
            node_id=self._config.node_id,
            incarnation_id=self._host.random_uuid(),
            listeners=[
                Listener(name=end.name, host=end.host, port=end.port, security_protocol=protocols[end.name])
                for end in self.endpoints
            ],
        )
        if self._followed is not None:
            self._registration.image_changed(self._followed.image)
        self._tasks.start_background("the controller's registration", self._registration.keep_registered())

    async def _follow(self, _delta: ImageDelta, image: ClusterImage) -> None:
        """Handlers read the image; of its changes only the registration has to hear."""
        if self._registration is not None:
            self._registration.image_changed(image)

    async def stop(self) -> None:
        """Ends every connection; does no harm if it never served."""
        await self.socket_server.stop()
        await self._tasks.cancel_all()
        if self._followed is not None:
            await self._followed.stop()
        self._dispatcher.close()
