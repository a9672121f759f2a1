import pytest

from ottla.schemas.registry_client.settings import InvalidRegistrySetting, RegistryClientSettings, read_client_settings


def test_registries_are_a_list_of_addresses() -> None:
    settings = read_client_settings({"schema.registry.url": " http://a:8081/ , https://b/registry "})
    assert settings.urls == ("http://a:8081", "https://b/registry")
    assert settings.user_info is None


@pytest.mark.parametrize(
    "given",
    [
        {"basic.auth.user.info": "ann:s:cret"},
        {"schema.registry.basic.auth.user.info": "ann:s:cret", "basic.auth.user.info": "other"},
        {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "ann:s:cret"},
        {"schema.registry.url": "http://ann:s%3Acret@a,http://b"},
    ],
)
def test_a_user_is_named_by_a_property_or_in_an_address(given: dict[str, str]) -> None:
    settings = read_client_settings({"schema.registry.url": "http://a,http://b", **given})
    assert settings.user_info == "ann:s:cret"
    assert settings.urls == ("http://a", "http://b")


def test_certificates_have_confluents_names_with_or_without_prefix() -> None:
    settings = read_client_settings(
        {
            "schema.registry.url": "https://a",
            "ssl.ca.location": "broker.pem",
            "schema.registry.ssl.ca.location": "ca.pem",
            "ssl.certificate.location": "client.pem",
            "ssl.key.location": "key.pem",
            "ssl.key.password": "open",
        }
    )
    assert (settings.ca_location, settings.certificate_location) == ("ca.pem", "client.pem")
    assert (settings.key_location, settings.key_password) == ("key.pem", "open")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "schema.registry.url is not set: write it as"),
        ({"schema.registry.url": " , "}, "is not set"),
        ({"schema.registry.url": "localhost:8081"}, "localhost:8081 is not the address"),
        ({"schema.registry.url": "http://"}, "is not the address"),
        ({"schema.registry.url": "http://a:port"}, "is not the address"),
        ({"schema.registry.url": "http://[::1"}, "is not the address"),
        ({"schema.registry.url": "http://a", "basic.auth.credentials.source": "SASL_INHERIT"}, "one of URL, USER_INFO"),
        ({"schema.registry.url": "http://a", "basic.auth.credentials.source": "USER_INFO"}, "user.info is not set"),
    ],
)
def test_what_cannot_be_used_is_named(given: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidRegistrySetting, match=message):
        read_client_settings(given)


@pytest.mark.parametrize("url", ["ann:secret@a:8081", "ftp://ann:secret@a", "http://ann:secret@a:port"])
def test_no_message_shows_a_password(url: str) -> None:
    with pytest.raises(InvalidRegistrySetting) as refused:
        read_client_settings({"schema.registry.url": url})
    assert "secret" not in str(refused.value)
    with pytest.raises(InvalidRegistrySetting) as refused:
        RegistryClientSettings(("http://ann:secret@a",))
    assert "secret" not in str(refused.value)


def test_settings_are_shown_without_secrets() -> None:
    settings = RegistryClientSettings(("http://a",), "ann:secret", key_password="secret")
    assert "secret" not in f"{settings!r} {settings}"
