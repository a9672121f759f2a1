"""Which partitions a source reads: given ones (`assign`), those of some topics (`subscribe`), or of every topic whose
name fits a pattern (`subscribePattern`)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ottla.pipeline.errors import OptionError
from ottla.pipeline.source.offsets import parse_partitions
from ottla.protocol.topic_partition import TopicPartition

ASSIGN, SUBSCRIBE, PATTERN = "assign", "subscribe", "subscribePattern"


@dataclass(frozen=True, slots=True)
class Assigned:
    """These partitions and no others."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Subscribed:
    """All partitions of these topics, also later ones."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Matching:
    """All partitions of the topics whose full name matches, also later ones; internal topics never match."""

    pattern: str

    def fits(self, topic: str) -> bool:
        return re.fullmatch(self.pattern, topic) is not None


TopicChoice: TypeAlias = Assigned | Subscribed | Matching


def parse_choice(options: Mapping[str, str]) -> TopicChoice:
    """Parse the one of the three options that is given, names in lower case; OptionError otherwise."""
    names = (ASSIGN, SUBSCRIBE, PATTERN)
    given = {name: options[name.lower()].strip() for name in names if name.lower() in options}
    if len(given) != 1:
        found = f"there are {' and '.join(given)}" if given else "there is none of them"
        raise OptionError(f"exactly one of the options {', '.join(names)} says what is read: {found}")
    [(name, value)] = given.items()
    if name == ASSIGN:
        return Assigned(parse_partitions(ASSIGN, value))
    if name == SUBSCRIBE:
        topics = tuple(sorted({topic.strip() for topic in value.split(",")} - {""}))
        if not topics:
            raise OptionError(f"{SUBSCRIBE}={value!r} names no topic: give one, or several with commas between them")
        return Subscribed(topics)
    try:
        re.compile(value)
    except re.error as error:
        raise OptionError(f"{PATTERN}={value} is not a regular expression: {error}") from None
    if not value:
        raise OptionError(f"{PATTERN} is empty: no topic has such a name")
    return Matching(value)
