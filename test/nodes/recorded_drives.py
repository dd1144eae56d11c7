"""The bags of the tests without ROS, for the tests with it."""

import importlib
import sys
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS / "unit" / "bags"), str(_TESTS / "replay")]

ros_messages = importlib.import_module("ros_messages")
bag_drive = importlib.import_module("bag_drive")
