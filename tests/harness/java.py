"""How the tests start a JVM: quick to start rather than quick in the long run."""

from pathlib import Path

from harness.downloads import downloaded

QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx512m")
QUIET = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=error",)


def class_path(*more: Path) -> str:
    return ":".join([*map(str, more), f"{downloaded('kafka')}/*"])


def java(main: str, *arguments: str, options: tuple[str, ...] = QUIET, classes: tuple[Path, ...] = ()) -> list[str]:
    return ["java", *QUICK_START, *options, "-cp", class_path(*classes), main, *arguments]
