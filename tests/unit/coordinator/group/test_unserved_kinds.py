import importlib
import pkgutil

from ottla.coordinator.group.unserved_kinds import KINDS, describe_kind
from ottla.protocol import messages


def test_every_kind_has_the_name_of_its_key_in_kafka() -> None:
    names = [module.name for module in pkgutil.iter_modules(messages.__path__) if module.name.endswith("_key")]
    keys = {}
    for name in names:
        module = importlib.import_module(f"{messages.__name__}.{name}")
        keys |= {
            key: found.API_KEY
            for key, found in vars(module).items()
            if "Group" in key and key.endswith("Key") and key != "GroupMetadataKey"
        }
    assert {f"{name}Key": kind for kind, (name, _) in KINDS.items()} == keys


def test_a_kind_is_described_with_its_owner() -> None:
    assert describe_kind(5) == (
        "record type 5 (ConsumerGroupMemberMetadata, of consumer groups of KIP-848, which this release does not serve)"
    )
    assert describe_kind(99) == "record type 99, which this release does not know"
