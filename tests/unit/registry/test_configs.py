import subprocess
import sys
from pathlib import Path

from ottla.config.definition import Standing
from ottla.registry.configs import REFUSED, REGISTRY_CONFIGS, SECTIONS, SYNONYMS

ROOT = Path(__file__).parents[3]


def test_the_reference_says_what_the_declarations_say() -> None:
    command = [sys.executable, "tools/generate_registry_settings.py", "--check"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_older_names_stand_for_names_that_there_are() -> None:
    assert set(SYNONYMS.values()) <= {key.name for key in REGISTRY_CONFIGS}
    assert not {*SYNONYMS, *REFUSED} & {key.name for key in REGISTRY_CONFIGS}


def test_what_has_no_effect_stands_by_itself() -> None:
    unused = SECTIONS["Accepted without effect"]
    assert all(key.standing is not Standing.ACTED_ON for key in unused)
    acted_on = [key for title, keys in SECTIONS.items() for key in keys if title != "Accepted without effect"]
    assert all(key.standing is Standing.ACTED_ON for key in acted_on)
