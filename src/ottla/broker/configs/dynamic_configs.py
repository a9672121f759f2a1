"""The settings in force on this broker: the node's own file, with the overrides in the metadata log."""

from ottla.broker.configs.config_schema import broker_layers
from ottla.config.broker_config import BrokerConfig
from ottla.config.description import BrokerLayers
from ottla.config.dynamic import log_config_fields
from ottla.metadata.image import ClusterImage, ConfigsImage
from ottla.storage.log_config import LogConfig


class DynamicConfigs:
    """Computes settings from the image that the caller gives, so that they are never older than that image."""

    def __init__(self, static: BrokerConfig) -> None:
        self._static = static
        self._configs: ConfigsImage | None = None
        self._current = static

    def current(self, image: ClusterImage) -> BrokerConfig:
        """The node's settings with their dynamic overrides."""
        if image.configs is not self._configs:
            self._configs = image.configs
            self._current = self.layers(image).effective
        return self._current

    def layers(self, image: ClusterImage) -> BrokerLayers:
        """The node's settings, separately for each place that can set them."""
        return broker_layers(self._static, image)

    def log_config(self, image: ClusterImage, topic: str) -> LogConfig:
        """The settings of a topic's logs."""
        return LogConfig(**log_config_fields(self.current(image), image.configs.topic(topic)))
