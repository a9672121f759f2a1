"""What the wheel and the sdist hold, and what they say of themselves."""

import re
import subprocess
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import PurePosixPath

from packaging.metadata import Metadata

import ottla
from harness.distribution import ROOT, Distribution

LINK = re.compile(r"\]\(([^)\s]+)\)")


def files_of_the_clone() -> set[str]:
    """What is tracked, or will be with the next commit."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in listed.splitlines() if (ROOT / name).is_file()}


def wheel_names(distribution: Distribution) -> set[str]:
    with zipfile.ZipFile(distribution.wheel) as wheel:
        return set(wheel.namelist())


def metadata_bytes(distribution: Distribution) -> bytes:
    with zipfile.ZipFile(distribution.wheel) as wheel:
        return wheel.read(f"ottla-{ottla.__version__}.dist-info/METADATA")


def test_the_build_warns_of_nothing(distribution: Distribution) -> None:
    assert "warn" not in distribution.output.lower()
    assert "deprecat" not in distribution.output.lower()


def test_the_wheel_holds_the_packages_and_nothing_beside_them(distribution: Distribution) -> None:
    sources = {name.removeprefix("src/") for name in files_of_the_clone() if name.startswith("src/")}
    information = f"ottla-{ottla.__version__}.dist-info"
    names = wheel_names(distribution)
    assert {name for name in names if not name.startswith(information)} == sources
    assert {"ottla/py.typed", f"{information}/licenses/LICENSE", f"{information}/entry_points.txt"} <= names


def test_the_sdist_holds_the_repository_and_nothing_else(distribution: Distribution) -> None:
    """Tests and documents too: whoever packages it for a distribution wants to run them."""
    with tarfile.open(distribution.sdist) as sdist:
        files = {str(PurePosixPath(*PurePosixPath(item.name).parts[1:])) for item in sdist if not item.isdir()}
    # How a clone is used, and not what it is.
    wanted = {name for name in files_of_the_clone() if not name.startswith((".ci/", ".github/", ".pre-commit"))}
    assert files - {"PKG-INFO"} == wanted


def test_the_metadata_is_valid_and_tells_the_version_of_the_code(distribution: Distribution) -> None:
    metadata = Metadata.from_email(metadata_bytes(distribution), validate=True)
    assert str(metadata.version) == ottla.__version__
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.provides_extra == ["arrow", "registry", "schemas", "spark"]
    assert metadata.description_content_type == "text/markdown"


def test_the_long_description_has_no_link_that_leads_nowhere_outside_of_the_repository(
    distribution: Distribution,
) -> None:
    description = message_from_bytes(metadata_bytes(distribution)).get_payload()
    assert isinstance(description, str)
    assert description.startswith("# Ottla")
    assert [target for target in LINK.findall(description) if not target.startswith("https://")] == []
