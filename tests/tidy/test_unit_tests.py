"""Every module has tests that know it: a unit test of its own name, or one that imports it, or those named here.

What is listed here is tested through something else, where it cannot be wrong without being noticed. The lists only get
shorter: a module that has tests of its own is taken off.
"""

import ast
from pathlib import Path

from tidy.test_style import GENERATED, ROOT, tracked

SOURCES = ROOT / "src" / "ottla"

# Packages, and what tests all that is in them.
PACKAGES = {
    "broker.controller.handlers": "tests/unit/broker/controller/handlers/test_controller_listener.py",
    "broker.handlers": "over the wire: tests/unit/broker/test_node.py, tests/interop, tests/fuzz",
    "broker.metrics": "tests/unit/broker/metrics/test_node_metrics.py: every metric of a running node",
    "broker.quorum": "tests/unit/broker/quorum, tests/system/test_crash_points_metadata.py",
    "cli": "command lines, run: tests/interop/test_cli_*.py, tests/interop/test_tool_*.py, tests/docs",
    "client": "tests/interop/test_client*.py, against Apache Kafka too",
    "config.broker": "tests/unit/config/test_broker_configs.py: every key against Kafka's own",
    "metadata.image": "tests/unit/metadata/image",
    "pipeline": "tests/pipeline: on Spark, with Ottla and with Apache Kafka; tests/unit/pipeline",
    "raft": "tests/sim: whole quorums under a simulator",
    "registry.rest": "tests/unit/registry/rest/test_app.py: every path, over a registry without IO",
    "schemas.protobuf": "tests/unit/schemas/protobuf: whole schemas, by example and by property",
    "testing.sim": "tests/sim/nodes: whole runs; tests/unit/testing/sim",
    "storage.cleaning": "tests/unit/storage/cleaning, tests/property, tests/system",
}

# Modules, and whose tests go through them.
MODULES = {
    "broker.configs.altered_resources": "broker.handlers.test_k33_alter_configs",
    "broker.configs.config_schema": "broker.handlers.test_k44_incremental_alter_configs",
    "broker.coordinators.replay": "broker.coordinators.groups.test_coordinator",
    "broker.configs.dynamic_configs": "broker.test_node",
    "broker.network.listening_socket": "broker.test_node",
    "config.client_metrics_configs": "config.test_dynamic_rules",
    "coordinator.group.loading": "broker.coordinators.groups.test_coordinator",
    "coordinator.group.member": "coordinator.group.test_shard",
    "registry.leading": "registry.test_instance",
    "registry.metrics.registry_metrics": "cli.registry.test_command",
    "registry.service": "registry.rest.test_app",
    "metadata.control_records": "broker.quorum.test_raft_shell",
    "metadata.controller.replica_assignment": "metadata.controller.test_topics",
    "metadata.controller.topic_names": "metadata.controller.test_topics",
    "protocol.decoder_source": "protocol.test_codec",
    "protocol.encoder_source": "protocol.test_codec",
    "protocol.response_frame": "broker.test_node",
    "security.authorizer": "broker.test_node",
    "storage.batch_placement": "storage.test_log",
    "storage.index_file": "storage.test_offset_index",
    "storage.segment_files": "storage.test_recovery",
    "testing.embedded_node": "testing.test_embedded_cluster",
    "storage.segment_indexes": "storage.test_recovery",
    "storage.segment_list": "storage.test_log",
    "storage.segment_scan": "storage.test_recovery",
    "storage.timestamp_lookup": "storage.test_log",
    "testing.lifeline": "testing.test_embedded_cluster",
}


def modules() -> dict[str, Path]:
    """The modules of the package by their dotted names below it."""
    paths = [path for path in tracked("src/*.py") if SOURCES in path.parents and GENERATED not in path.parents]
    return {
        ".".join(path.relative_to(SOURCES).with_suffix("").parts): path
        for path in paths
        if not path.name.startswith("__")
    }


def imported_by_tests() -> set[str]:
    names: set[str] = set()
    for path in tracked("tests/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                names.add(node.module)
                names.update(f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
    return {name.removeprefix("ottla.") for name in names}


def unit_test_of(module: str) -> Path:
    package, _, name = module.rpartition(".")
    return ROOT / "tests" / "unit" / package.replace(".", "/") / f"test_{name}.py"


def test_every_module_has_tests_that_know_it() -> None:
    imported = imported_by_tests()
    unknown = [
        module
        for module in modules()
        if module not in imported
        and module not in MODULES
        and not unit_test_of(module).exists()
        and not any(module.startswith(f"{package}.") for package in PACKAGES)
    ]
    assert unknown == [], "write tests/unit/.../test_MODULE.py, or say in MODULES whose tests go through them"


def test_what_is_listed_exists_and_has_no_unit_test_of_its_own() -> None:
    known = modules()
    assert [module for module in MODULES if module not in known or unit_test_of(module).exists()] == []
    assert [package for package in PACKAGES if not any(module.startswith(f"{package}.") for module in known)] == []


def test_the_tests_that_are_named_exist() -> None:
    units = ROOT / "tests" / "unit"
    assert {name for name in MODULES.values() if not (units / f"{name.replace('.', '/')}.py").exists()} == set()
