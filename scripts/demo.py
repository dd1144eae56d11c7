#!/usr/bin/env python3
"""A robot drives through the gallery, remembers what it sees, answers questions, and drives to an answer.

    make demo
    make demo ARGS="--speed 1"

Real nodes in processes of their own: gallery_robot (camera, odometry, SLAM poses, and NavigateToPose in place of Nav2),
builder_node with a small detector on the CPU, and query_node. What comes of it lies in demo_output/ afterwards.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from demo_processes import ROOT, ProcessDiedError, Processes

from vlkng_ros.config import GalleryConfig, parameters_of
from vlkng_ros.errors import VlkngError
from vlkng_ros.gallery.camera import GalleryCamera
from vlkng_ros.gallery.demo_world import demo_drive, demo_world
from vlkng_ros.gallery.drive import Drive
from vlkng_ros.gallery.render import Renderer
from vlkng_ros.gallery.truth import Truth
from vlkng_ros.types import NS_PER_S, Pose

QUESTIONS = (
    ("Where is the cat?", "cat", True),
    ("When did you last see the cup?", "cup", False),
    ("Did you see a motorcycle?", "motorcycle", False),
)
"""What is asked, the thing it is about, and whether the robot is to drive there."""
SLOWEST = 1.0
"""Simulated seconds in a real one that the demo does not go below, however busy the machine."""
MAX_WAITING = 4
"""Keyframes that may wait for the detector before the robot is slowed down."""
GOOD_GOAL_M = 1.0
"""A goal further than this from where its thing can be seen is a wrong one."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__.splitlines()[0])
    parser.add_argument("--speed", type=_speed, default=2.5, help="most simulated seconds in a real one (default: 2.5)")
    parser.add_argument("--output", type=Path, default=ROOT / "demo_output", help="folder for what comes of it")
    return parser.parse_args(argv)


def _speed(text: str) -> float:
    known = parameters_of(GalleryConfig)["speed"]
    try:
        return float(known.check(float(text)))
    except (ValueError, VlkngError) as error:
        raise argparse.ArgumentTypeError(f"'{text}': {error}") from None


class Teller:
    """Progress on the terminal: a bar that is redrawn, or now and then a line where nobody watches."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._last = ""
        self._last_at = -math.inf

    def bar(self, fraction: float, text: str) -> None:
        """Show how far something is."""
        fraction = min(max(fraction, 0.0), 1.0)
        if self._live:
            width = 30
            filled = round(fraction * width)
            columns = shutil.get_terminal_size().columns
            print(f"\r\033[K  [{'#' * filled}{'.' * (width - filled)}] {text}"[: columns + 4], end="", flush=True)
        elif time.monotonic() - self._last_at >= 10.0 and text != self._last:
            print(f"  {100 * fraction:3.0f} %  {text}", flush=True)
            self._last, self._last_at = text, time.monotonic()

    def line(self, text: str = "") -> None:
        """Say something that stays."""
        print(f"\r\033[K{text}" if self._live else text, flush=True)


class Pace:
    """Simulated time runs as fast as this machine keeps up: no keyframe is to be lost for want of a processor."""

    def __init__(self, client: Any, fastest: float) -> None:
        self._client = client
        self._fastest = fastest
        self._slowest = min(SLOWEST, fastest)
        self._speed = fastest
        self._lost = 0
        self._judged: dict[str, str] = {}

    def adjust(self) -> None:
        """Slower where builder_node has a backlog or lost frames since its last status, else faster again."""
        status = self._client.builder
        if status is self._judged:
            return
        self._judged = status
        lost = sum(int(status.get(name, "0")) for name in ("dropped: frame", "frames: thinned"))
        behind = int(status.get("keyframes waiting for the model", "0")) > MAX_WAITING or lost > self._lost
        self._lost = lost
        speed = max(self._speed * 0.7, self._slowest) if behind else min(self._speed * 1.1, self._fastest)
        if abs(speed - self._speed) > 0.01:
            self._speed = speed
            self._client.set_speed(speed)


class Demo:
    """One run. ``run`` returns what was answered, and is right or raises."""

    def __init__(self, speed: float, output: Path) -> None:
        self.speed = speed
        self.output = output
        self.memory = output / "memory.db"
        self.world = demo_world()
        self.truth = Truth(self.world)
        # Today's date reads better in an answer than seconds since a simulator's start.
        self.drive: Drive = demo_drive(int(time.time()) * NS_PER_S)
        self.teller = Teller()

    def prepare(self) -> None:
        """An empty folder; and everything that the processes need is there.

        Raises:
            VlkngError: photographs or the detector are not installed.
        """
        from vlkng_ros.config import PerceptionConfig
        from vlkng_ros.perception.base import open_backend

        Renderer(self.world)
        open_backend(PerceptionConfig(backend="opencv_dnn")).close()
        self.output.mkdir(parents=True, exist_ok=True)
        for path in [*self.output.glob("memory.*"), self.output / "answers.json", self.output / "logs"]:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def parameters(self) -> dict[str, dict[str, object]]:
        """The parameters of each process, in the order in which they are started."""
        mount = GalleryCamera().mount.position_m
        both = {"use_sim_time": True, "memory.path": self.memory, "robot.map_id": "gallery"}
        return {
            "builder_node": {
                **both,
                "robot.name": "gallery_robot",
                "perception.backend": "opencv_dnn",
                "camera.qos_reliability": "reliable",
                "camera.x_m": mount[0],
                "camera.y_m": mount[1],
                "camera.z_m": mount[2],
            },
            "query_node": {**both, "retrieval.timeout_s": 60.0},
            "gallery_robot": {
                "gallery.speed": self.speed,
                "gallery.start_s": float(self.drive.start_ns // NS_PER_S),
                "gallery.wait_for_subscribers_s": 150.0,
            },
        }

    def run(self) -> list[dict[str, Any]]:
        """The whole demo; returns what goes into answers.json."""
        # Only now: the environment decides where DDS talks, and rclpy reads it once.
        from demo_client import DemoClient

        with Processes(self.output / "logs") as processes:
            for name, parameters in self.parameters().items():
                processes.start(name, parameters)
            with DemoClient(processes.check) as client:
                self.teller.line("Starting gallery_robot, builder_node and query_node ...")
                client.wait_for_services(60.0)
                self._watch_tour(client)
                self._wait_for_perception(client)
                answers = [self._ask(client, *question) for question in QUESTIONS]
                # What it saw on the way to an answer is remembered too.
                self._wait_for_perception(client)
                return answers

    # ------------------------------------------------------------------------------------------ the tour

    def _watch_tour(self, client: Any) -> None:
        client.wait(
            lambda: client.now_ns is not None, 150.0, "the start of the tour (builder_node subscribing to the camera)"
        )
        seconds = (self.drive.end_ns - self.drive.start_ns) / NS_PER_S
        self.teller.line(f"The robot drives {self.drive.length_m:.0f} m through {len(self.world.rooms)} rooms:")
        pace = Pace(client, self.speed)

        def tell() -> None:
            pace.adjust()
            passed = (client.now_ns - self.drive.start_ns) / NS_PER_S
            room = self.world.room_at(*self.drive.at(client.now_ns)[:2])
            text = f"{min(passed, seconds):.0f} of {seconds:.0f} s, {client.stored} keyframes, {room}"
            self.teller.bar(passed / seconds, text)

        # The first question loads the text encoder, which takes longer than answering.
        client.wait(lambda: client.stored > 0, 60.0, "the first keyframe", tell)
        warm_up = client.ask_soon("Where is the door?")
        # A machine that cannot keep up slows the simulated clock down.
        client.wait(lambda: client.now_ns > self.drive.end_ns, 20 * seconds / self.speed + 60, "the tour's end", tell)
        client.wait(warm_up.done, 90.0, "the answer to a first question")

    def _wait_for_perception(self, client: Any) -> None:
        from vlkng_ros.memory import MemoryReader

        with MemoryReader.open(self.memory) as memory:
            stats = memory.stats()

            def described() -> bool:
                nonlocal stats
                stats = memory.stats()
                return stats.keyframes >= client.stored and stats.pending == 0

            def tell() -> None:
                done = stats.keyframes - stats.pending
                self.teller.bar(done / max(stats.keyframes, 1), f"{done} of {stats.keyframes} keyframes described")

            client.wait(described, 120.0, "the description of the last keyframes", tell)
            self.teller.line(f"It remembers {stats.keyframes} keyframes with {stats.observations} observations.")

    # ------------------------------------------------------------------------------------------ the questions

    def _ask(self, client: Any, question: str, label: str, navigate: bool) -> dict[str, Any]:
        from vlkng_ros.nodes.messages import pose_from
        from vlkng_ros.srv import Ask

        reply = client.ask(question, 90.0, navigate=navigate)
        self.teller.line()
        self.teller.line(f"  {question}")
        if reply.status != Ask.Response.OK:
            self.teller.line(f"    {reply.answer or reply.message}")
            return {"question": question, "label": label, "status": int(reply.status), "message": reply.message}
        self.teller.line(f"    {reply.answer}")
        stages = dict(zip(reply.stages, (round(float(ms), 2) for ms in reply.stage_ms), strict=True))
        entry: dict[str, Any] = {
            "question": question,
            "label": label,
            "status": int(reply.status),
            "answer": reply.answer,
            "kind": int(reply.kind),
            "confidence": round(float(reply.confidence), 3),
            "time_ns": None,
            "binary": None,
            "stage_ms": stages,
            "keyframe_ids": [int(frame.keyframe_id) for frame in reply.keyframes],
            "box_px": [float(v) for v in reply.keyframes[0].box_px] if _has_box(reply) else None,
            "entity_ids": [thing.entity_id for thing in reply.objects],
        }
        if reply.kind == Ask.Response.KIND_TIME:
            entry["time_ns"] = reply.time.sec * NS_PER_S + reply.time.nanosec
        if reply.kind == Ask.Response.KIND_BINARY:
            entry["binary"] = bool(reply.binary)
        total = stages.get("total", sum(stages.values()))
        said = f"    confidence {reply.confidence:.2f}, {total:.0f} ms"
        if reply.has_goal:
            goal = pose_from(reply.goal)
            entry["goal"] = _planar(goal)
            error = self.truth.goal_error(label, goal)
            entry["goal_error_m"] = round(error.distance_m, 3)
            entry["goal_turn_rad"] = round(error.turn_rad, 3)
            said += f", goal {_words(goal)}"
            self.teller.line(said)
            self.teller.line(f"    from there the {label} is {_visibility(error.distance_m, error.turn_rad)}")
        else:
            self.teller.line(said)
        if navigate:
            self._navigate(client, reply, label, entry)
        return entry

    def _navigate(self, client: Any, reply: Any, label: str, entry: dict[str, Any]) -> None:
        from demo_client import FINAL_STATES

        from vlkng_ros.msg import Navigation

        if not reply.navigation_id:
            raise RuntimeError(f"no goal was sent: {reply.navigation_message}")
        first = len(client.true_poses)
        whole = 0.0

        def tell() -> None:
            nonlocal whole
            report = client.progress_of(reply.navigation_id)
            left = float(report.distance_remaining_m) if report is not None and report.has_feedback else 0.0
            whole = max(whole, left)
            if left:
                self.teller.bar(1 - left / whole, f"driving there, {left:.1f} m left")

        client.wait(lambda: client.end_of(reply.navigation_id) is not None, 180.0, "the end of the drive", tell)
        end = client.end_of(reply.navigation_id)
        # The camera tells where the robot is; two frames after the end it stands.
        count = len(client.true_poses)
        client.wait(lambda: len(client.true_poses) > count + 1, 30.0, "the robot's pose after the drive")
        arrived = client.true_poses[-1]
        driven = [pose.position_m[:2] for pose in client.true_poses[first:]]
        length = sum(math.dist(a, b) for a, b in itertools.pairwise(driven))
        error = self.truth.goal_error(label, arrived)
        entry["navigation"] = {
            "state": FINAL_STATES[end.state],
            "message": end.message,
            "attempt": int(end.attempt),
            "driven_m": round(length, 2),
            "robot": _planar(arrived),
            "robot_error_m": round(error.distance_m, 3),
            "robot_turn_rad": round(error.turn_rad, 3),
            "path": [[round(x, 3), round(y, 3)] for x, y in driven],
        }
        if end.state not in (Navigation.STATE_SUCCEEDED, Navigation.STATE_ALREADY_THERE):
            raise RuntimeError(f"the robot did not get there: {FINAL_STATES[end.state]}, {end.message}")
        self.teller.line(f"    it drove {length:.1f} m and stands at {_words(arrived)}")


def _has_box(reply: Any) -> bool:
    return bool(reply.keyframes) and bool(reply.keyframes[0].has_box)


def _planar(pose: Pose) -> dict[str, float]:
    x, y, _ = pose.position_m
    return {"x_m": round(x, 3), "y_m": round(y, 3), "yaw_rad": round(pose.yaw_rad, 3)}


def _words(pose: Pose) -> str:
    x, y, _ = pose.position_m
    return f"x {x:.2f} m, y {y:.2f} m, heading {math.degrees(pose.yaw_rad):.0f}°"


def _visibility(distance_m: float, turn_rad: float) -> str:
    if distance_m == 0 and turn_rad == 0:
        return "in view (0.0 m off)"
    turn = f", {math.degrees(turn_rad):.0f}° to turn" if turn_rad else ""
    return f"{distance_m:.1f} m off from being in view{turn}"


def wrong_answers(entries: Sequence[dict[str, Any]], drive: Drive, truth: Truth) -> list[str]:
    """What is wrong with the answers, measured by the truth; empty where all are right."""
    wrong = []
    for entry in entries:
        question = entry["question"]
        if "answer" not in entry:
            wrong.append(f"'{question}' was not answered: {entry['message']}")
            continue
        if entry["binary"] is False:
            wrong.append(f"'{question}' was answered with no")
        for key, what in (("goal_error_m", "its goal"),):
            if entry.get(key, 0.0) > GOOD_GOAL_M:
                wrong.append(f"'{question}': {what} is {entry[key]:.1f} m from where the {entry['label']} can be seen")
        if entry["time_ns"] is not None:
            thing = next(t for t in truth.world.things() if t.label == entry["label"])
            last_ns = truth.times_seen(thing, drive)[-1]
            off_s = (entry["time_ns"] - last_ns) / NS_PER_S
            entry["time_error_s"] = round(off_s, 2)
            if abs(off_s) > 3.0:
                wrong.append(f"'{question}': the time is {off_s:+.1f} s off")
    return wrong


def main(argv: Sequence[str]) -> int:
    """Run the demo; 0 where every answer is right."""
    arguments = parse(argv)
    # A domain that no robot of this network is on, and the loopback interface only: the demo has a /clock.
    os.environ["ROS_DOMAIN_ID"] = os.environ.get("DEMO_DOMAIN") or str(random.SystemRandom().randint(1, 101))
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun = time.monotonic()
    from demo_client import WaitedTooLongError

    demo = Demo(arguments.speed, arguments.output.resolve())
    logs = demo.output / "logs"
    try:
        demo.prepare()
        entries = demo.run()
    except (VlkngError, OSError, ProcessDiedError, WaitedTooLongError, RuntimeError) as error:
        demo.teller.line()
        print(f"make demo: {error}\n  logs: {logs}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        demo.teller.line()
        print("make demo: interrupted; everything it had started has ended", file=sys.stderr)
        return 130
    from demo_picture import draw_memory

    wrong = wrong_answers(entries, demo.drive, demo.truth)
    seconds = time.monotonic() - begun
    (demo.output / "answers.json").write_text(json.dumps({"seconds": round(seconds, 1), "answers": entries}, indent=2))
    draw_memory(demo.output / "memory.png", demo.memory, demo.world, demo.drive, entries)
    shown = demo.output.relative_to(Path.cwd()) if demo.output.is_relative_to(Path.cwd()) else demo.output
    demo.teller.line()
    demo.teller.line(f"Done in {seconds:.0f} s. {shown}/memory.png shows it; beside it memory.db and answers.json.")
    demo.teller.line(f'Ask more: .venv/bin/vlkng ask --memory {shown}/memory.db "Where is the person?"')
    for line in wrong:
        print(f"make demo: wrong answer: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
