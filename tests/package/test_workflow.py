"""The forge's workflow runs what a contributor runs, on every Python that the package claims."""

import re
import tomllib

import yaml

from harness.distribution import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))


def steps(job: str) -> list[dict[str, object]]:
    return list(WORKFLOW["jobs"][job]["steps"])


def test_every_python_that_the_package_claims_is_checked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    claimed = re.findall(r"Programming Language :: Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert WORKFLOW["jobs"]["check"]["strategy"]["matrix"]["python"] == claimed


def test_it_runs_what_a_contributor_runs_and_nothing_else() -> None:
    commands = [step["run"] for job in WORKFLOW["jobs"] for step in steps(job) if "run" in step]
    assert commands == ["make check", "make test"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"check", "test"} <= set(targets)


def test_downloads_are_kept_until_a_recipe_changes() -> None:
    (kept,) = [step["with"] for step in steps("test") if str(step.get("uses")).startswith("actions/cache@")]
    assert isinstance(kept, dict)
    assert kept["path"] == "~/.cache/ottla"
    recipes = re.findall(r"'([^']+)'", kept["key"])
    assert recipes
    assert [name for name in recipes if not (ROOT / name).is_file()] == []


def test_it_may_read_the_repository_and_nothing_more() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
