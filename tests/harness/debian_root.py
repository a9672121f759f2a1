"""A Debian system of its own for a test: processes, mounts and network apart from the host's, gone with the test.

It is a copy of a system from the cache, laid over it, so that it costs no time; debian_root.sh makes it. Its first
process is what the test names: systemd, or one that waits. It has no network but its own loopback, where a service may
listen as it likes. What is to be installed comes over the host's network: `install` runs there.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.downloads import downloaded
from harness.waiting import eventually

SCRIPT = Path(__file__).with_suffix(".sh")
NAMESPACES = ("--mount", "--pid", "--ipc", "--uts", "--cgroup", "--net")
WAIT = ("/bin/sleep", "infinity")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Where files of the host are seen inside.
HOST = "/mnt/host"
PIP_CACHE = f"{HOST}/pip-cache"

# Brings up the loopback of a fresh network: SIOCGIFFLAGS, SIOCSIFFLAGS with IFF_UP.
LOOPBACK_UP = (
    "import fcntl, socket, struct\n"
    "with socket.socket() as s:\n"
    "    name, flags = struct.unpack('16sh', fcntl.ioctl(s, 0x8913, struct.pack('16sh', b'lo', 0)))\n"
    "    fcntl.ioctl(s, 0x8914, struct.pack('16sh', name, flags | 1))\n"
)


@dataclass(frozen=True, slots=True)
class DebianRoot:
    """A running system; `pid` is its first process, as the host sees it."""

    pid: int

    @property
    def path(self) -> Path:
        """Its files, as the host reaches them."""
        return Path(f"/proc/{self.pid}/root")

    def run(
        self, *command: str, variables: Mapping[str, str] | None = None, timeout_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command inside."""
        return self._run(self.command(*command, variables=variables), timeout_s)

    def install(
        self, *command: str, cwd: str = "/", variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command inside, but for the network, which is the host's; pip knows what the host's knows."""
        given = pip_variables() | dict(variables or {})
        return self._run(self._enter((), given, ("env", f"--chdir={cwd}", *command)), timeout_s=600)

    def command(self, *command: str, variables: Mapping[str, str] | None = None) -> list[str]:
        """The command line that runs a command inside."""
        return self._enter(("--net", "--ipc", "--uts", "--cgroup"), variables or {}, command)

    def on_its_network(self, *command: str) -> list[str]:
        """The command line of a program of the host that sees this system's network."""
        return ["nsenter", f"--target={self.pid}", "--net", "--", *command]

    def _enter(self, namespaces: Sequence[str], variables: Mapping[str, str], command: Sequence[str]) -> list[str]:
        enter = ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--root", "--wd=/", *namespaces, "--"]
        return [*enter, "/usr/bin/env", "-i", f"PATH={PATH}", *(f"{k}={v}" for k, v in variables.items()), *command]

    @staticmethod
    def _run(command: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=timeout_s
        )


def pip_variables() -> dict[str, str]:
    """How pip finds packages on this host, and where it keeps them."""
    given = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    seen = {name: f"{HOST}{value}" for name, value in given.items() if _is_path(value)}
    return given | seen | {"PIP_CACHE_DIR": PIP_CACHE, "PIP_ROOT_USER_ACTION": "ignore"}


def _pip_mounts() -> list[str]:
    """What pip's variables name on this host, and its cache."""
    named = {value for name, value in os.environ.items() if name.startswith("PIP_") and _is_path(value)}
    cache = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=False)
    kept = Path(cache.stdout.strip())
    mounts = [f"{path}:{HOST}{path}" for path in sorted(named)]
    # Whoever has switched it off has none.
    return [*mounts, f"{kept}:{PIP_CACHE}"] if cache.returncode == 0 and kept.is_dir() else mounts


def _is_path(value: str) -> bool:
    return value.startswith("/") and Path(value).exists()


@contextmanager
def running_root(system: Path, work: Path, first: Sequence[str] = WAIT) -> Iterator[DebianRoot]:
    """Starts a copy of a system with `first` as its first process, and ends all that runs in it."""
    work.mkdir(parents=True)
    # A test run that is itself killed leaves nothing behind.
    guard = ["setpriv", "--pdeathsig", "KILL", "unshare", *NAMESPACES, "--fork", "--kill-child"]
    with (work.with_suffix(".log")).open("wb") as log:
        process = subprocess.Popen(
            [*guard, str(SCRIPT), str(system), str(work), *_pip_mounts(), "--", *first],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield DebianRoot(_first_process(process, first[0], Path(log.name)))
    finally:
        process.kill()
        process.wait()


def _first_process(process: "subprocess.Popen[bytes]", program: str, log: Path) -> int:
    """The process inside, once it has become the program that it is to be."""

    def look() -> int:
        assert process.poll() is None, log.read_text()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        if not children or Path(f"/proc/{children[0]}/comm").read_text().strip() != Path(program).name:
            return 0
        return int(children[0])

    pid = eventually(look)
    enter = ["nsenter", f"--target={pid}", "--net", "--", sys.executable, "-c", LOOPBACK_UP]
    subprocess.run(enter, check=True, capture_output=True)
    return pid


def debian_system(name: str) -> Path:
    """A system from the cache; skips the test where there can be none, and says what is missing."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("a Debian system of its own needs Linux, and root")
    for program in ("debootstrap", "unshare", "nsenter", "setpriv"):
        if shutil.which(program) is None:
            pytest.skip(f"a Debian system of its own needs {program}: tools/system-parts {program}")
    if subprocess.run(["unshare", *NAMESPACES, "--fork", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("a Debian system of its own needs namespaces, which root may not make here")
    return downloaded(name) / "root"
