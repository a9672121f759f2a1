"""The page of the client's settings has every setting there is, with the default that it has."""

import re
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import pytest

from ottla.client.cluster import ClientSettings
from ottla.client.connection import Security
from ottla.client.consumer import ConsumerSettings
from ottla.client.fetch_request import FetchLimits
from ottla.client.partition_sharing import GroupSettings
from ottla.client.producer_settings import ProducerSettings
from ottla.client.retries import RetryPolicy

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "client-settings.md"
SETTINGS = (ClientSettings, ProducerSettings, ConsumerSettings, GroupSettings, FetchLimits, RetryPolicy, Security)
ROW = re.compile(r"^\| `(\w+)` \|(?: .*?)? \| `?(.+?)`? \| .+ \|$", re.MULTILINE)


def shown(field: Field[Any]) -> str:
    if field.default_factory is not MISSING:
        return f"{type(field.default_factory()).__name__}()"
    default = field.default
    if default is MISSING:
        return "required"
    if field.name == "assignors":
        return "(RANGE, COOPERATIVE_STICKY)"
    if isinstance(default, str):
        return f'"{default}"'
    return str(default) if type(default).__module__ == "builtins" else f"{type(default).__name__}.{default.name}"


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings.__name__)
def test_every_setting_is_there_with_its_default(settings: type[Any]) -> None:
    _, _, section = PAGE.read_text(encoding="utf-8").partition(f"\n## {settings.__name__}\n")
    rows = dict(ROW.findall(section.partition("\n## ")[0]))
    # Large numbers are written as Python allows it.
    told = {name: re.sub(r"(?<=\d)_(?=\d)", "", default) for name, default in rows.items()}
    assert told == {field.name: shown(field) for field in fields(settings)}


def test_every_group_of_settings_is_on_the_page() -> None:
    assert re.findall(r"^## (\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE) == [
        settings.__name__ for settings in SETTINGS
    ]
