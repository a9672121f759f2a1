"""What the tests of packages share: the distribution of this clone, built once."""

import pytest

from harness.distribution import Distribution, build_distribution


@pytest.fixture(scope="session")
def distribution(tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    return build_distribution(tmp_path_factory.mktemp("dist"))
