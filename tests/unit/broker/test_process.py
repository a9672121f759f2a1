"""A node's process, in a process of its own: what it sets up holds for all that runs in it."""

import signal
import subprocess
import sys
from pathlib import Path

SOFT_LIMIT = """
import resource
from ottla.broker.process import raise_descriptor_limit
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
raise_descriptor_limit()
assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard
"""

SERVER = """
import sys
from pathlib import Path
from ottla.broker.process import run
from ottla.config.broker_config import BrokerConfig, single_node_defaults
config = BrokerConfig(single_node_defaults(Path(sys.argv[1]), "127.0.0.1:0"))
run(config, lambda node: print(node.acceptors[0].port, flush=True))
print("stopped", flush=True)
"""


def test_the_soft_limit_of_descriptors_is_raised_to_the_hard_one() -> None:
    subprocess.run([sys.executable, "-c", SOFT_LIMIT], check=True, timeout=60)


def test_a_node_runs_until_it_is_told_to_stop(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert int(server.stdout.readline()) > 0
        server.send_signal(signal.SIGTERM)
        assert server.stdout.read() == "stopped\n"
    assert server.returncode == 0
