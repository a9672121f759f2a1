import pytest

from ottla.config.definition import REQUIRED, ConfigDef, ConfigKey, Importance
from ottla.config.validators import Range
from ottla.config.values import ConfigError, ConfigType

SIZE = ConfigKey("size", ConfigType.INT, 5, Importance.HIGH, "How large.", validator=Range(1))
NAME = ConfigKey("name", ConfigType.STRING, REQUIRED, Importance.LOW, "Who.")


def test_a_key_parses_and_checks() -> None:
    assert SIZE.parse(" 7 ") == 7
    with pytest.raises(ConfigError, match="Value must be at least 1"):
        SIZE.parse("0")


def test_defaults_are_typed_and_shown_as_text() -> None:
    definition = ConfigDef((SIZE, NAME))
    assert definition.default("size") == 5
    assert SIZE.default_text == "5"
    assert NAME.default_text is None


def test_a_required_key_has_no_default_to_give() -> None:
    with pytest.raises(ConfigError, match='Missing required configuration "name"'):
        ConfigDef((NAME,)).default("name")


def test_keys_keep_their_order_and_are_found_by_name() -> None:
    definition = ConfigDef((SIZE, NAME))
    assert [key.name for key in definition] == ["size", "name"]
    assert len(definition) == 2
    assert "size" in definition
    assert definition.get("other") is None
    assert definition["name"] is NAME


def test_a_password_is_sensitive() -> None:
    assert ConfigKey("p", ConfigType.PASSWORD, None, Importance.LOW, "Secret.").is_sensitive
    assert not SIZE.is_sensitive
