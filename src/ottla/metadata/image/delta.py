"""What changed between two images, so that those who follow the metadata need not compare them."""

from __future__ import annotations

from dataclasses import dataclass, field

from ottla.metadata.image.configs import Resource


@dataclass(slots=True)
class ImageDelta:
    created_topics: set[bytes] = field(default_factory=set)
    deleted_topics: dict[bytes, str] = field(default_factory=dict)
    changed_partitions: set[tuple[bytes, int]] = field(default_factory=set)
    changed_configs: set[Resource] = field(default_factory=set)
    changed_brokers: set[int] = field(default_factory=set)
    features_changed: bool = False
    producer_ids_changed: bool = False
    kept_records_changed: bool = False
    # After a snapshot everything that the image holds counts as new and what it lacks as gone.
    is_full: bool = False

    @property
    def changed_topics(self) -> list[bytes]:
        """Topics that exist and were created or had a partition changed; in an order that every run has."""
        return sorted(self.created_topics | {topic_id for topic_id, _ in self.changed_partitions})

    @property
    def is_empty(self) -> bool:
        return not (
            self.created_topics
            or self.deleted_topics
            or self.changed_partitions
            or self.changed_configs
            or self.changed_brokers
            or self.features_changed
            or self.producer_ids_changed
            or self.kept_records_changed
            or self.is_full
        )
