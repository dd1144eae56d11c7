"""What every test process shares: nothing leaves this machine, and nothing uses more than its share of it."""

import importlib.util
import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples in each run, and as much time for them as a busy machine needs; --hypothesis-profile=default draws
# new ones.
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

# Set before any test module imports rclpy, numpy or a model library: they read these once.
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_LOCALHOST_ONLY", "1")  # the same for Humble
# A domain of the test process's own, so that runs side by side do not hear each other. 1 to 101 are safe on Linux.
os.environ.setdefault("ROS_DOMAIN_ID", str(random.SystemRandom().randint(1, 101)))
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

NODE_TESTS = Path(__file__).parent / "nodes"


def _missing_for_nodes() -> str:
    if importlib.util.find_spec("rclpy") is None:
        return "rclpy is not importable"
    if importlib.util.find_spec("vlkng_ros.srv") is None:
        return "the package's messages are not built or not on the path"
    return ""


MISSING_FOR_NODES = _missing_for_nodes()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave the node tests out where there is no ROS; the summary says so."""
    if MISSING_FOR_NODES and (collection_path == NODE_TESTS or NODE_TESTS in collection_path.parents):
        return True
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING_FOR_NODES:
        terminalreporter.write_line(
            f"test/nodes left out: {MISSING_FOR_NODES}; run 'make test', or '. scripts/ros_env.sh' first", yellow=True
        )
