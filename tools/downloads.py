"""What the tests fetch and build once, and where they find it again.

    python tools/downloads.py kafka        fetches Apache Kafka's jars if need be and prints their directory

Everything lives in one cache outside the clone: $OTTLA_CACHE, else $XDG_CACHE_HOME/ottla, else ~/.cache/ottla. An entry
is a directory named after what it holds, its version and a digest of the recipe that made it, so a changed recipe never
meets an old result. An entry is made in a temporary directory beside its place and renamed when it is whole: what has
the final name is complete. A lock per entry makes a second run wait for the first one instead of repeating it.

Packages are named, their hosts never are: mvn, npm and pip know where to look, mirrors included.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
ROOT = TOOLS.parent


class DownloadFailed(Exception):
    """A command of a recipe failed; the message holds what it said."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One entry of the cache: `make` fills the empty directory it is given."""

    name: str
    version: str
    takes: str
    inputs: str
    make: Callable[[Path], None]

    @property
    def directory_name(self) -> str:
        digest = hashlib.sha256(self.inputs.encode()).hexdigest()[:8]
        return f"{self.name}-{self.version}-{digest}"


def cache_root() -> Path:
    if explicit := os.environ.get("OTTLA_CACHE"):
        return Path(explicit)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "ottla"
    return Path.home() / ".cache" / "ottla"


def run(command: Sequence[str], cwd: Path) -> str:
    try:
        done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise DownloadFailed(f"{command[0]} is not installed: `make system-parts` says how to get it") from None
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise DownloadFailed(f"{' '.join(command)} failed with exit code {done.returncode}:\n{said}")
    return done.stdout


KAFKA_POM = TOOLS / "kafka" / "pom.xml"


def make_kafka(target: Path) -> None:
    run(
        ["mvn", "-q", "-B", "-f", str(KAFKA_POM), "dependency:copy-dependencies", f"-DoutputDirectory={target}"], target
    )


# Spark's poms name a second repository that a mirror may not have, so the jars come one by one.
SPARK_CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)


def make_spark_connector(target: Path) -> None:
    copy_jars(SPARK_CONNECTOR, target)


def copy_jars(artifacts: Sequence[str], target: Path) -> None:
    for artifact in artifacts:
        goal = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", "-Dtransitive=false"]
        run([*goal, f"-DoutputDirectory={target}"], target)


# The library whose rules and texts registries go by, and what it reads JSON with.
AVRO_VERSION = "1.12.0"
AVRO_JARS = (
    f"org.apache.avro:avro:{AVRO_VERSION}",
    "com.fasterxml.jackson.core:jackson-core:2.17.2",
    "com.fasterxml.jackson.core:jackson-databind:2.17.2",
    "com.fasterxml.jackson.core:jackson-annotations:2.17.2",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-nop:1.7.36",
)


def make_avro(target: Path) -> None:
    copy_jars(AVRO_JARS, target)


KAFKAJS_VERSION = "2.2.4"


def make_kafkajs(target: Path) -> None:
    run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", f"--prefix={target}", f"kafkajs@{KAFKAJS_VERSION}"],
        target,
    )


# Clients of schema registries, and what carries their records.
REGISTRY_JS = (
    "@kafkajs/confluent-schema-registry@4.1.0",
    "@confluentinc/schemaregistry@1.10.1",
    f"kafkajs@{KAFKAJS_VERSION}",
)


def make_registry_js(target: Path) -> None:
    # Without scripts: a package below them would build a client that nobody uses here.
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", f"--prefix={target}"]
    run([*install, *REGISTRY_JS], target)


REGISTRY_GO = ROOT / "tests" / "harness" / "go"
REGISTRY_GO_SOURCES = "".join(path.read_text() for path in sorted(REGISTRY_GO.iterdir()))


def make_registry_go(target: Path) -> None:
    run(["go", "build", "-trimpath", "-o", str(target / "typed-agent"), "."], REGISTRY_GO)


APICURIO_VERSION = "3.0.9"


def make_apicurio(target: Path) -> None:
    artifact = f"io.apicurio:apicurio-registry-app:{APICURIO_VERSION}:tar.gz:all"
    run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={target}"], target)
    (archive,) = target.glob("*.tar.gz")
    run(["tar", "xzf", archive.name], target)
    archive.unlink()


# The package carries librdkafka's whole source tree, its tests included.
LIBRDKAFKA_PACKAGE = "@confluentinc/kafka-javascript"
LIBRDKAFKA_PACKAGE_VERSION = "1.10.1"


# Each test asks for one replica or for three. The suite runs on one node and on clusters: the server's default decides.
LIBRDKAFKA_TOPICS = {
    "NewTopic_new(topicname, partition_cnt, replication_factor,": "NewTopic_new(topicname, partition_cnt, -1,",
    "topics[i], num_partitions, 1, errstr": "topics[i], num_partitions, -1, errstr",
}


def make_librdkafka(target: Path) -> None:
    archive = run(["npm", "pack", "--silent", f"{LIBRDKAFKA_PACKAGE}@{LIBRDKAFKA_PACKAGE_VERSION}"], target).split()[-1]
    run(["tar", "xzf", archive], target)
    source = target / "librdkafka"
    (target / "package" / "deps" / "librdkafka").rename(source)
    shutil.rmtree(target / "package")
    (target / archive).unlink()
    tests = source / "tests" / "test.c"
    code = tests.read_text()
    for asked, instead in LIBRDKAFKA_TOPICS.items():
        if code.count(asked) != 1:
            raise DownloadFailed(f"librdkafka's {tests.name} creates topics in another way than expected")
        code = code.replace(asked, instead)
    tests.write_text(code)
    run(["./configure", "--disable-gssapi", "--disable-curl", "--enable-zstd"], source)
    if "#define WITH_RAPIDJSON 1" not in (source / "config.h").read_text():
        raise DownloadFailed("librdkafka's tests need RapidJSON: `make system-parts` says how to get it")
    jobs = f"-j{os.cpu_count() or 1}"
    run(["make", jobs, "libs"], source)
    run(["make", jobs, "-C", "tests", "build"], source)


# The one package that carries librdkafka's examples, its load generator among them.
RDKAFKA_PERFORMANCE_PACKAGE_VERSION = "3.6.1"
RDKAFKA_PERFORMANCE = "package/deps/librdkafka/examples/rdkafka_performance.c"


def make_rdkafka_performance(target: Path) -> None:
    """Builds the load generator on the library that the tests use."""
    package = f"node-rdkafka@{RDKAFKA_PERFORMANCE_PACKAGE_VERSION}"
    archive = run(["npm", "pack", "--silent", package], target).split()[-1]
    run(["tar", "xzf", archive, RDKAFKA_PERFORMANCE], target)
    source = ensure(RECIPES["librdkafka"]) / "librdkafka"
    needed = re.findall(r"^LIBS\+=(.*)$", (source / "Makefile.config").read_text(), re.MULTILINE)
    build = ["cc", "-O2", "-w", f"-I{source / 'src'}", RDKAFKA_PERFORMANCE, "-o", "rdkafka_performance"]
    run([*build, str(source / "src" / "librdkafka.a"), *" ".join(needed).split()], target)
    (target / archive).unlink()
    shutil.rmtree(target / "package")


KAFKA_PYTHON_VERSION = "3.0.12"


def make_kafka_python_suite(target: Path) -> None:
    """The source distribution: the wheel has no tests."""
    package = f"kafka-python=={KAFKA_PYTHON_VERSION}"
    fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "kafka-python"]
    run([*fetch, "-d", str(target), package], target)
    archive = next(target.glob("*.tar.gz"))
    run(["tar", "xzf", archive.name, "--strip-components=1"], target)
    archive.unlink()


DEBIAN_RELEASE = "trixie"
# What runs a service; an image has none of it.
DEBIAN_SERVICE_PACKAGES = "systemd,python3-venv"


def make_debian(target: Path) -> None:
    """A Debian system as images of it are: its base and nothing more. Only root can make it."""
    run(["debootstrap", "--variant=minbase", DEBIAN_RELEASE, str(target / "root")], target)


def make_debian_service(target: Path) -> None:
    """A Debian system as a server has it."""
    include = f"--include={DEBIAN_SERVICE_PACKAGES}"
    run(["debootstrap", "--variant=minbase", include, DEBIAN_RELEASE, str(target / "root")], target)


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("kafka", "4.3.0", "90 jars, about 100 MB", KAFKA_POM.read_text(), make_kafka),
        Recipe("spark-connector", "4.2.0", "four jars, 10 MB", " ".join(SPARK_CONNECTOR), make_spark_connector),
        Recipe("avro", AVRO_VERSION, "six jars, 3 MB", " ".join(AVRO_JARS), make_avro),
        Recipe("kafkajs", KAFKAJS_VERSION, "one npm package", "install", make_kafkajs),
        Recipe("registry-js", "1", "three npm packages", " ".join(REGISTRY_JS), make_registry_js),
        Recipe("registry-go", "1", "a Go build, half a minute", REGISTRY_GO_SOURCES, make_registry_go),
        Recipe("apicurio", APICURIO_VERSION, "one archive, about 100 MB", "runner", make_apicurio),
        Recipe(
            "librdkafka",
            LIBRDKAFKA_PACKAGE_VERSION,
            "a C build, about 3 minutes",
            "gssapi curl off, zstd rapidjson on, default replicas",
            make_librdkafka,
        ),
        Recipe(
            "rdkafka-performance",
            RDKAFKA_PERFORMANCE_PACKAGE_VERSION,
            "one npm package, one C file",
            f"on librdkafka of {LIBRDKAFKA_PACKAGE_VERSION}",
            make_rdkafka_performance,
        ),
        Recipe("debian", DEBIAN_RELEASE, "a Debian system, 210 MB on disk", "minbase", make_debian),
        Recipe(
            "debian-service",
            DEBIAN_RELEASE,
            "a Debian system with systemd and Python, 290 MB on disk",
            DEBIAN_SERVICE_PACKAGES,
            make_debian_service,
        ),
        Recipe("kafka-python-suite", KAFKA_PYTHON_VERSION, "one source archive", "sdist", make_kafka_python_suite),
    )
}


@contextmanager
def entry_lock(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def ensure(recipe: Recipe) -> Path:
    """The entry's directory, made now if it is not there yet."""
    root = cache_root()
    entry = root / recipe.directory_name
    if entry.is_dir():
        return entry
    root.mkdir(parents=True, exist_ok=True)
    with entry_lock(root / f".{recipe.directory_name}.lock"):
        if not entry.is_dir():
            print(f"fetching {recipe.name} {recipe.version} ({recipe.takes}) ...", file=sys.stderr, flush=True)
            unfinished = Path(tempfile.mkdtemp(prefix=f".{recipe.directory_name}.", dir=root))
            try:
                recipe.make(unfinished)
                unfinished.rename(entry)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
    return entry


def main(arguments: Sequence[str]) -> int:
    if not arguments or any(name not in RECIPES for name in arguments):
        print(f"usage: downloads.py NAME..., each one of: {', '.join(RECIPES)}", file=sys.stderr)
        return 2
    try:
        for name in arguments:
            print(ensure(RECIPES[name]))
    except DownloadFailed as failure:
        print(f"downloads: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
