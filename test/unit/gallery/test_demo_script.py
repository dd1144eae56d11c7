import importlib
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from vlkng_ros.gallery.demo_world import demo_drive, demo_world
from vlkng_ros.gallery.picture import AnsweredQuestion, DemoPicture, RememberedThing, draw
from vlkng_ros.gallery.render import Renderer
from vlkng_ros.gallery.truth import Truth
from vlkng_ros.types import Pose

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
S = 1_000_000_000


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("demo")


@pytest.fixture
def processes(demo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The demo's processes, with scripts of the test in place of the nodes."""
    module = importlib.import_module("demo_processes")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "scripts").mkdir()

    def script(name: str, text: str) -> None:
        (tmp_path / "scripts" / name).write_text(text)

    return SimpleNamespace(
        script=script, make=lambda: module.Processes(tmp_path / "logs"), died=module.ProcessDiedError
    )


def until(condition, what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_a_process_that_ends_by_itself_is_named_with_the_end_of_its_log(processes) -> None:
    processes.script("builder_node", "print('loading');\nraise SystemExit('no such model')")
    with processes.make() as running:
        running.start("builder_node", {})

        def ended() -> bool:
            try:
                running.check()
            except processes.died:
                return True
            return False

        until(ended, "the end of the process")
        with pytest.raises(processes.died, match=r"builder_node ended with exit status 1\.\n(?s:.*)no such model"):
            running.check()


def test_parameters_are_handed_over_as_ros_takes_them(processes) -> None:
    processes.script("query_node", "import sys; print(sys.argv[1:])")
    with processes.make() as running:
        running.start("query_node", {"use_sim_time": True, "memory.path": "/tmp/m.db", "retrieval.timeout_s": 60.0})
        expected = (
            "['--ros-args', '-p', 'use_sim_time:=true', '-p', 'memory.path:=/tmp/m.db', "
            "'-p', 'retrieval.timeout_s:=60.0']"
        )
        until(lambda: expected in running.log("query_node").read_text(), "the arguments")


def test_no_process_is_left_behind_not_even_a_deaf_one_and_its_child(
    processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["demo_processes"]
    monkeypatch.setattr(module, "STOP_S", ((signal.SIGINT, 0.2), (signal.SIGTERM, 0.2), (signal.SIGKILL, 5.0)))
    processes.script(
        "deaf",
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid, flush=True); time.sleep(600)\n",
    )

    def interrupted() -> None:
        with processes.make() as running:
            running.start("deaf", {})
            until(lambda: running.log("deaf").read_text().strip().isdigit(), "the child's id")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    log = next(Path(module.ROOT, "logs").glob("deaf.log"))
    child = int(log.read_text())
    until(lambda: _state(child) in ("", "Z"), "the end of the child")


def _state(pid: int) -> str:
    """A process's state letter, empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


class FakeClient:
    def __init__(self) -> None:
        self.builder: dict[str, str] = {}
        self.speeds: list[float] = []

    def set_speed(self, speed: float) -> None:
        self.speeds.append(speed)


def status(**values: int) -> dict[str, str]:
    names = {"waiting": "keyframes waiting for the model", "dropped": "dropped: frame", "thinned": "frames: thinned"}
    return {names[name]: str(value) for name, value in values.items()}


def test_simulated_time_slows_down_where_the_machine_falls_behind_and_recovers(demo) -> None:
    client = FakeClient()
    pace = demo.Pace(client, 2.5)
    client.builder = status(waiting=9)
    pace.adjust()
    assert client.speeds == [pytest.approx(1.75)]
    pace.adjust()
    assert len(client.speeds) == 1, "one status is judged once"
    for dropped in (1, 2, 3, 4):
        client.builder = status(waiting=0, dropped=dropped)
        pace.adjust()
    assert client.speeds[-1] == demo.SLOWEST
    for _ in range(20):
        client.builder = status(waiting=0, dropped=4)
        pace.adjust()
    assert client.speeds[-1] == pytest.approx(2.5, abs=0.01)


def entry(question: str, label: str, **more) -> dict:
    return {"question": question, "label": label, "answer": "...", "binary": None, "time_ns": None, **more}


def test_right_answers_pass_and_wrong_ones_are_named(demo) -> None:
    drive, truth = demo_drive(), Truth(demo_world())
    cup = next(thing for thing in demo_world().things() if thing.label == "cup")
    last_ns = truth.times_seen(cup, drive)[-1]
    right = [
        entry("Where?", "cat", goal_error_m=0.2),
        entry("When?", "cup", time_ns=last_ns - S),
        entry("Did you?", "motorcycle", binary=True),
    ]
    assert demo.wrong_answers(right, drive, truth) == []
    wrong = [
        entry("Where?", "cat", goal_error_m=2.0),
        entry("When?", "cup", time_ns=last_ns - 9 * S),
        entry("Did you?", "motorcycle", binary=False),
        {"question": "Who?", "label": "person", "message": "the memory is empty"},
    ]
    assert demo.wrong_answers(wrong, drive, truth) == [
        "'Where?': its goal is 2.0 m from where the cat can be seen",
        "'When?': the time is -9.0 s off",
        "'Did you?' was answered with no",
        "'Who?' was not answered: the memory is empty",
    ]


def test_the_picture_is_drawn_small_enough_for_a_readme(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib comes with the extra 'demo'")
    world, drive = demo_world(), demo_drive()
    path = np.array([drive.at(s)[:2] for s in range(0, drive.end_ns, S)])
    base = drive.pose(24 * S)
    answers = [
        AnsweredQuestion(
            "Where is the cat?", "There.", "", "cat", base, Renderer(world).render(base), (10, 10, 99, 99)
        ),
        AnsweredQuestion("Where is the dog?", "I have not seen a dog.", ""),
    ]
    things = [RememberedThing("cat", (5.6, 7.9), 4, np.diag([0.1, 0.2])), RememberedThing("tv", (1.0, 1.0), 1)]
    picture = DemoPicture(world, path, path[::3], things, answers, Pose.planar("map", 6.0, 5.0, math.pi / 2), path[-3:])
    draw(picture, tmp_path / "memory.png")
    drawn = cv2.imread(str(tmp_path / "memory.png"))
    assert drawn.shape == (990, 1760, 3)
    assert (tmp_path / "memory.png").stat().st_size < 400_000
    # The goal's arrow is there: nothing else is of such a green, whatever the palette made of it.
    blue, green, red = (drawn[..., channel].astype(int) for channel in range(3))
    assert ((green > red + 70) & (green > blue + 30)).sum() > 200


def test_a_missing_photograph_ends_the_demo_before_anything_starts(demo, tmp_path: Path) -> None:
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(SCRIPTS.parent), str(SCRIPTS)]))
    code = (
        "import importlib.util as u, sys; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'skimage' else find(name, *a)\n"
        "from vlkng_ros.gallery.demo_world import demo_world; from vlkng_ros.gallery.render import Renderer\n"
        "import demo; d = demo.Demo(1.0, __import__('pathlib').Path(sys.argv[1]))\n"
        "d.prepare()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "out")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "pip install 'vlkng_ros[demo]'" in ran.stderr
    assert not (tmp_path / "out").exists()
