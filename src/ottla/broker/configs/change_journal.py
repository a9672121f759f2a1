"""Writes changes of settings and feature levels to the node's log.

An operator who looks for the cause of an incident finds each change there, at the time at which it took effect on this
node. Secrets are left out.
"""

import logging
from collections.abc import Mapping

from ottla.broker.configs.config_schema import config_key
from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.metadata.image import ClusterImage, ImageDelta, ResourceType
from ottla.metadata.image.configs import DEFAULT_BROKER, Resource

logger = logging.getLogger("ottla.broker.changes")

_VERIFICATION = "transaction.partition.verification.enable"


class ChangeJournal:
    """Logs how each image differs from the one before."""

    def __init__(self, configs: DynamicConfigs, image: ClusterImage) -> None:
        self._configs = configs
        self._image = image
        self._is_verifying = True
        self._warn_about_verification(image)

    def note(self, delta: ImageDelta, image: ClusterImage) -> None:
        """Logs what is different in the next image."""
        before, self._image = self._image, image
        for resource in sorted(delta.changed_configs):
            changes = _changes(resource, before.configs.of(*resource), image.configs.of(*resource))
            if changes:
                logger.info("Settings of %s: %s", _title(resource), ", ".join(changes))
        if delta.features_changed:
            for name in sorted({*before.features, *image.features}):
                old, new = before.features.get(name, 0), image.features.get(name, 0)
                if old != new:
                    logger.info("Feature %s has level %d now, it was %d", name, new, old)
        self._warn_about_verification(image)

    def _warn_about_verification(self, image: ClusterImage) -> None:
        is_verifying = self._configs.current(image).get_bool(_VERIFICATION)
        if is_verifying != self._is_verifying and not is_verifying:
            logger.warning(
                "%s is false: a late record of an older client can leave a transaction open for ever, which blocks all "
                "read_committed consumers; `ottla transactions find-hanging` finds such transactions",
                _VERIFICATION,
            )
        self._is_verifying = is_verifying


def _title(resource: Resource) -> str:
    kind, name = resource
    if kind == ResourceType.BROKER and name == DEFAULT_BROKER:
        return "all brokers"
    try:
        return f"{ResourceType(kind).name.lower().replace('_', ' ')} {name}"
    except ValueError:
        # A newer version may have written resources that this one does not know.
        return f"resource {name} of type {kind}"


def _changes(resource: Resource, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    changed = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return [f"{_line(name)} {_change(resource, name, after.get(name))}" for name in changed]


def _change(resource: Resource, name: str, value: str | None) -> str:
    if value is None:
        return "is taken away"
    key = config_key(resource[0], name)
    # An unknown setting may be the password of a plugin.
    return "= [hidden]" if key is None or key.is_sensitive else f"= {_line(value)}"


def _line(text: str) -> str:
    """The text without line breaks, so that it cannot forge lines of the log."""
    return text if text.isprintable() else repr(text)
