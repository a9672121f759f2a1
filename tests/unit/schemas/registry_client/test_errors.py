from ottla.schemas.errors import SchemaError
from ottla.schemas.registry_client.errors import RegistryRefusal


def test_a_refusal_tells_status_code_and_message() -> None:
    refusal = RegistryRefusal(404, 40401, "Subject 's' not found.")
    assert isinstance(refusal, SchemaError)
    assert (refusal.status, refusal.code, str(refusal)) == (404, 40401, "Subject 's' not found.")
