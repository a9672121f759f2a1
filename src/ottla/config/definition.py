"""A configuration key. It is declared once; parsing, DescribeConfigs and the reference all read the declaration."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ottla.config.validators import Validator
from ottla.config.values import ConfigError, ConfigType, ConfigValue, format_value, parse_value


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class UpdateMode(Enum):
    """Whether and where a broker config can change while the node runs."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Standing(Enum):
    """Whether a setting has an effect, and the sentence that its documentation adds. All of Kafka's are accepted."""

    ACTED_ON = ""
    NOT_YET = "Not acted on yet."
    # It is about Kafka's threads, buffers or Java classes.
    NEVER = "It has no effect in Ottla."


class _Required:
    """Marks a key without default."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One configuration key. `default` is typed, None means unset; `meaning` says what the setting decides."""

    name: str
    type: ConfigType
    default: ConfigValue | _Required
    importance: Importance
    meaning: str
    validator: Validator | None = None
    update_mode: UpdateMode = UpdateMode.READ_ONLY
    internal: bool = False
    standing: Standing = Standing.ACTED_ON

    @property
    def documentation(self) -> str:
        """The text that DescribeConfigs and the reference show."""
        return f"{self.meaning} {self.standing.value}".rstrip()

    @property
    def is_sensitive(self) -> bool:
        return self.type is ConfigType.PASSWORD

    @property
    def default_text(self) -> str | None:
        """The default as DescribeConfigs shows it."""
        return None if isinstance(self.default, _Required) else format_value(self.default)

    def parse(self, text: str) -> ConfigValue:
        """The typed and checked value of a text, or ConfigError."""
        value = parse_value(self.name, text, self.type)
        if self.validator is not None:
            self.validator(self.name, value)
        return value


class ConfigDef:
    """A set of keys in their order of declaration."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Iterable[ConfigKey]) -> None:
        self._keys: dict[str, ConfigKey] = {}
        for key in keys:
            assert key.name not in self._keys, f"{key.name} is declared twice"
            self._keys[key.name] = key

    def __iter__(self) -> Iterator[ConfigKey]:
        return iter(self._keys.values())

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def __getitem__(self, name: str) -> ConfigKey:
        return self._keys[name]

    def get(self, name: str) -> ConfigKey | None:
        return self._keys.get(name)

    def default(self, name: str) -> ConfigValue:
        """The typed default of a key; a required key without a value is the operator's mistake."""
        default = self._keys[name].default
        if isinstance(default, _Required):
            raise ConfigError(f'Missing required configuration "{name}" which has no default value: give it a value.')
        return default
