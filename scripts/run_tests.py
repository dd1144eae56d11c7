#!/usr/bin/env python3
"""Run the tests: those without ROS in one process, each file of node tests in a process of its own.

    scripts/run_tests.py [PATH ...] [-- PYTEST_ARGUMENT ...]

rclpy keeps state for as long as its process lives, so a node test that leaves some behind must not decide how the next
file does. Each process gets a ROS domain of its own. The last line sums up all of them, as pytest's does.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "test"
NODES = TESTS / "nodes"
NO_TESTS_COLLECTED = 5
DOMAINS = range(1, 102)
"""Domain ids whose ports are below the range that Linux hands out to others."""


def groups(paths: Sequence[Path]) -> list[list[Path]]:
    """What each process runs: all the tests without ROS, then one file of node tests each."""
    plain: list[Path] = []
    apart: list[Path] = []
    for path in paths:
        if path == NODES or NODES in path.parents:
            apart += sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
        elif path in NODES.parents:
            plain.append(path)
            apart += sorted(NODES.rglob("test_*.py"))
        else:
            plain.append(path)
    return ([plain] if plain else []) + [[path] for path in dict.fromkeys(apart)]


def run_group(paths: Sequence[Path], arguments: Sequence[str], domain: int, report: Path) -> int:
    """Run one pytest process.

    Returns:
        Its exit status; 0 where the arguments select none of its tests.
    """
    # xunit1 lets tests record figures with record_property.
    command = [sys.executable, "-m", "pytest", f"--junit-xml={report}", "-o", "junit_family=xunit1", *arguments]
    if any(path in NODES.parents for path in paths):
        command.append(f"--ignore={NODES}")
    environment = dict(os.environ, ROS_DOMAIN_ID=str(domain), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    status = subprocess.run([*command, *map(str, paths)], cwd=ROOT, env=environment, check=False).returncode
    return 0 if status == NO_TESTS_COLLECTED else status


def counts(report: Path) -> Counter[str]:
    """Tests by outcome, from a JUnit report; one error where the process died before it wrote one."""
    if not report.is_file():
        return Counter(error=1)
    total: Counter[str] = Counter()
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        number = {key: int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")}
        total["failed"] += number["failures"]
        total["error"] += number["errors"]
        total["skipped"] += number["skipped"]
        total["passed"] += number["tests"] - number["failures"] - number["errors"] - number["skipped"]
    return total


def main(argv: Sequence[str]) -> int:
    """Run everything, and return 0 only where every process did."""
    split = argv.index("--") if "--" in argv else len(argv)
    paths = [Path(name).resolve() for name in argv[:split]] or [TESTS]
    arguments = list(argv[split + 1 :])
    missing = [path for path in paths if not path.exists()]
    if missing:
        print(f"run_tests: no such file: {', '.join(map(str, missing))}", file=sys.stderr)
        return 2

    start = time.monotonic()
    total: Counter[str] = Counter()
    broken: list[str] = []
    work = groups(paths)
    domains = random.SystemRandom().sample(DOMAINS, k=min(len(work), len(DOMAINS)))
    with tempfile.TemporaryDirectory(prefix="vlkng_tests_") as folder:
        for number, group in enumerate(work):
            report = Path(folder) / f"{number}.xml"
            status = run_group(group, arguments, domains[number % len(domains)], report)
            found = counts(report) if status or report.is_file() else Counter[str]()
            total += found
            if status:
                broken.append(f"{', '.join(str(path.relative_to(ROOT)) for path in group)} (exit status {status})")
                if not found["failed"] and not found["error"]:
                    total["error"] += 1
            sys.stdout.flush()
    for line in broken:
        print(f"FAILED in {line}")
    parts = [f"{total[key]} {key}" for key in ("failed", "passed", "skipped", "error") if total[key]]
    summary = f" {', '.join(parts) or 'no tests ran'} in {time.monotonic() - start:.2f}s "
    print(summary.center(100, "="), flush=True)
    return 1 if broken or not total else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
