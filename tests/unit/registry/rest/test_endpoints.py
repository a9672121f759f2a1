import subprocess
import sys
from pathlib import Path

from ottla.registry.rest import parameters
from ottla.registry.rest.endpoints import ENDPOINTS

ROOT = Path(__file__).parents[4]


def test_the_reference_says_what_the_table_says() -> None:
    command = [sys.executable, "tools/generate_registry_api.py", "--check"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_request_is_listed_once() -> None:
    listed = [(one.method, one.path) for one in ENDPOINTS]
    assert sorted(listed) == sorted(set(listed))


def test_every_parameter_is_taken_by_some_request() -> None:
    taken = {parameter for endpoint in ENDPOINTS for parameter in endpoint.parameters}
    defined = {one for one in vars(parameters).values() if isinstance(one, parameters.Parameter)}
    assert taken == defined
