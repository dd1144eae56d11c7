"""Every problem that a node reports has its row under README's "It does not work"."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS = {
    "lifecycle": "cannot start, and ends: ...",
    "store": "keyframes cannot be stored",
    "stored_again": "keyframes are stored again",
    "little_space": "little space is left on the disk",
    "image": "images not usable",
    "time_jump": "time jumped back",
    "perception": "keyframes wait for their description",
    "failed": "keyframes could not be described",
    "model": "the model is not running",
    "no_image": "no image received on",
    "no_depth": "depth: no message on",
    "no_camera_info": "camera_info: no message on",
    "bad_pose": "poses not used",
    "no_pose": "no pose received on",
    "overload": "the builder does not keep up",
    "memory": "no memory there yet",
}
"""What the page says of each problem, by its key."""


def test_every_problem_that_a_node_reports_is_on_the_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = readme.partition("\n## It does not work\n")[2].partition("\n## ")[0]
    sources = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "vlkng_ros" / "nodes").glob("*.py"))]
    assert {key for source in sources for key in re.findall(r"Problem\(f?\"(\w+)", source)} == PROBLEMS.keys()
    assert [words for words in PROBLEMS.values() if words not in page] == []
