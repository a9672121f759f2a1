import pytest

from ottla.cli.exits import CommandError
from ottla.cli.kafka.configs.config_quotas import entity_text, parse_scram
from ottla.client.admin.quotas import ClientQuota
from ottla.client.admin.scram_credentials import NewScramCredential, ScramMechanism


def test_entities_are_named_in_the_tools_words() -> None:
    assert entity_text(ClientQuota({"client-id": None, "user": "u"}, {})) == "user-principal 'u', the default client-id"


def test_a_credential_has_a_password_and_may_have_iterations() -> None:
    assert parse_scram("SCRAM-SHA-512", "iterations=8192,password=p=q") == NewScramCredential(
        ScramMechanism.SCRAM_SHA_512, "p=q", 8192
    )
    assert parse_scram("SCRAM-SHA-256", "password=p").iterations == 4096


@pytest.mark.parametrize("text", ["", "iterations=4096", "password=", "iterations=many,password=secret"])
def test_what_is_no_credential_is_told_without_its_password(text: str) -> None:
    with pytest.raises(CommandError, match="Invalid credential property") as caught:
        parse_scram("SCRAM-SHA-256", text)
    assert "secret" not in str(caught.value)


def test_too_few_iterations_are_refused() -> None:
    with pytest.raises(CommandError, match="less than the minimum 4096"):
        parse_scram("SCRAM-SHA-256", "iterations=1,password=p")
