"""Ottla as others get it: the wheel and the sdist of this clone, and fresh environments that they are installed in.

An environment knows nothing of the clone: no PYTHONPATH, no editable install, a working directory elsewhere.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Distribution:
    """What a build left, and what it said."""

    wheel: Path
    sdist: Path
    output: str


def build_distribution(target: Path) -> Distribution:
    """Builds the sdist, and the wheel from that."""
    command = [sys.executable, "-m", "build", "--outdir", str(target), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False, env=_outside())
    output = built.stdout + built.stderr
    assert built.returncode == 0, output
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return Distribution(wheel, sdist, output)


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment with what was installed into it."""

    home: Path

    @property
    def python(self) -> Path:
        return self.home / "bin" / "python"

    @property
    def ottla(self) -> Path:
        return self.home / "bin" / "ottla"

    @property
    def variables(self) -> dict[str, str]:
        """As after `source bin/activate`."""
        return _outside() | {"PATH": f"{self.home / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def install(self, *requirements: str, options: tuple[str, ...] = ()) -> str:
        """What pip says; the tests' own pip does it, so that the environment needs none."""
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "install", "--disable-pip-version-check"]
        return self.run(*pip, *options, *requirements)

    def run(self, *command: str, timeout_s: float = 600) -> str:
        """What a command prints, run as a user of this environment would."""
        done = subprocess.run(
            command,
            cwd=self.home,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        return done.stdout


def make_environment(home: Path) -> Environment:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    return Environment(home)


def _outside() -> dict[str, str]:
    """The variables of a shell that has not heard of the clone."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    return {name: value for name, value in os.environ.items() if name not in hidden}
