import pkgutil

from ottla.protocol import messages
from ottla.protocol.messages.create_topics_request import CreateTopicsRequest
from ottla.protocol.messages.create_topics_response import CreateTopicsResponse
from ottla.protocol.response_types import response_type


def test_a_request_has_the_response_of_its_name() -> None:
    assert response_type(CreateTopicsRequest) is CreateTopicsResponse


def test_every_request_has_one_with_its_api_key() -> None:
    names = [found.name for found in pkgutil.iter_modules(messages.__path__) if found.name.endswith("_request")]
    assert len(names) > 80
    for name in names:
        class_name = "".join(part.capitalize() for part in name.split("_"))
        module = __import__(f"{messages.__name__}.{name}", fromlist=["_"])
        request = next(value for key, value in vars(module).items() if key.lower() == class_name.lower())
        assert response_type(request).API_KEY == request.API_KEY
