"""``vlkng build``: a recording to a memory, without a running robot."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING

from vlkng_ros.cli import arguments
from vlkng_ros.cli.parameters import add_parameters, read_parameters
from vlkng_ros.cli.perceive import describe_rest
from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import BagError, ImageError
from vlkng_ros.moments import counted

if TYPE_CHECKING:
    from vlkng_ros.bags.bag import Bag
    from vlkng_ros.bags.recording import BagMessage
    from vlkng_ros.bags.topics import ChosenTopics
    from vlkng_ros.building.pipeline import MemoryBuilder
    from vlkng_ros.building.recorder import KeyframeRecorder
    from vlkng_ros.building.selector import FrameSelector
    from vlkng_ros.cli.bag_events import BagEvents
    from vlkng_ros.types import Keyframe

WAITING_FRAMES = 256
"""Frames that may wait for a pose: a robot must bound its memory more tightly, a recording need not lose any."""
logger = logging.getLogger(__name__)


def add_parser(subparsers: arguments.Parsers) -> None:
    """The verb."""
    parser = subparsers.add_parser(
        "build",
        help="build a memory from a rosbag2 recording",
        description="Build a memory from a rosbag2 recording, as builder_node would have while it was made. Topics "
        "that are not named are found by their type. A bag that was built already, or in part, is not built twice.",
    )
    parser.add_argument("bag", type=arguments.path, metavar="BAG", help="the bag's folder, or its .mcap or .db3 file")
    arguments.add_memory(parser)
    for name, what in (
        ("image", "Image or CompressedImage topic"),
        ("camera-info", "CameraInfo topic (default: beside the image)"),
        ("pose", "PoseWithCovarianceStamped, PoseStamped or Odometry topic with the robot's pose in the map"),
        ("odom", "Odometry topic that carries poses forward"),
        ("depth", "Image topic with depths (16UC1 or 32FC1), aligned to the image"),
    ):
        parser.add_argument(f"--{name}", default="", metavar="TOPIC", help=what)
    parser.add_argument(
        "--camera", action="append", type=_camera, default=[], metavar="NAME=TOPIC", help="a further camera; or more"
    )
    parser.add_argument("--map-id", metavar="ID", help="robot.map_id")
    parser.add_argument("--backend", metavar="NAME", help="perception.backend")
    parser.add_argument("--model", metavar="MODEL", help="perception.model")
    add_parameters(parser)
    parser.set_defaults(run=run, interrupted=arguments.GOES_ON)


def run(args: argparse.Namespace) -> int:
    """Build the memory; 1 where not all of it could be stored and described."""
    from vlkng_ros.bags.bag import Bag
    from vlkng_ros.bags.topics import choose_topics

    named = {
        "memory.path": str(args.memory),
        "robot.map_id": args.map_id,
        "perception.backend": args.backend,
        "perception.model": args.model,
        "camera.depth": True if args.depth else None,
        "camera.others": ",".join(name for name, _ in args.camera) or None,
    }
    config = read_parameters(BuilderConfig, args, named, node="builder_node")
    with Bag.open(args.bag) as bag:
        topics = choose_topics(
            bag.topics,
            image=args.image,
            camera_info=args.camera_info,
            pose=args.pose,
            odometry=args.odom,
            depth=args.depth,
            others=dict(args.camera),
        )
        logger.info("topics: %s", ", ".join(topics.names))
        try:
            with ExitStack() as resources:
                complete = _build(args, bag, topics, config, resources)
        finally:
            for problem in bag.problems:
                print(f"{args.bag}: {problem}", file=sys.stderr)
    return 0 if complete else 1


def _build(
    args: argparse.Namespace, bag: Bag, topics: ChosenTopics, config: BuilderConfig, resources: ExitStack
) -> bool:
    """Build; False where the bag could not be stored and described to its end."""
    from vlkng_ros.building.opening import open_writer
    from vlkng_ros.building.pipeline import MemoryBuilder
    from vlkng_ros.building.recorder import KeyframeRecorder
    from vlkng_ros.cli.bag_events import BagEvents
    from vlkng_ros.cli.memories import known_keyframes, other_maps
    from vlkng_ros.cli.progress import progress
    from vlkng_ros.perception import PerceptionWorker

    begin = time.monotonic()
    _require_keyframe(bag, topics, config)
    known = {camera: known_keyframes(args.memory, camera or config.camera.name) for camera in ("", *topics.others)}
    describe, in_flight = None, 1
    if config.perception.backend != "none":
        worker = resources.enter_context(PerceptionWorker(config.perception))
        describe, in_flight = worker.submit, worker.in_flight
    writer = resources.enter_context(open_writer(config))
    woken = threading.Event()
    builder = MemoryBuilder(writer, describe, config, in_flight=in_flight, wake=woken.set)
    source = BagEvents(topics, config)
    selector = _selector(topics, config, source)
    recorder = KeyframeRecorder(
        _in_the_same_map(config, known[""].values()),
        selector,
        builder,
        rgb_of=source.rgb_of,
        camera_in_base=source.camera_in_base,
    )
    for camera, frames in known.items():
        selector.policy_of(camera).known = frames.keys()
    with progress(f"build {args.bag.name}", bag.count(topics.names), "messages") as advance:
        recording = _counted(_context_first(bag, topics), advance)
        for event in source.events(recording):
            recorder.handle(event)
            # The recording waits for the model, where a robot would have to drop frames.
            while builder.queued >= config.keyframe.queue_size and not builder.stuck:
                woken.clear()
                builder.poll()
                woken.wait(timeout=0.2)
            if builder.stuck:
                break
    if not builder.stuck:
        selector.flush()
        recorder.work()
    if describe is not None:
        with progress("describe", builder.queued, "keyframes") as advance:
            describe_rest(builder, advance)
    recorded_s = (bag.end_ns - bag.start_ns) / 1e9
    print(
        f"{args.memory}: {counted(builder.counts['stored'], 'keyframe')}, {builder.counts['described']} described, "
        f"from {recorded_s:.1f} s of {args.bag} in {time.monotonic() - begin:.1f} s"
    )
    pending = len(writer.pending(limit=sys.maxsize))
    place = other_maps((frame for frames in known.values() for frame in frames.values()), config.robot.map_id)
    passed = sum(selector.policy_of(camera).passed for camera in known)
    _report(recorder, builder, source, pending, passed, place)
    if builder.stuck:
        print("stopped; what is stored is kept, and the same command goes on from there", file=sys.stderr)
    undescribed = 0 if describe is None else pending + builder.counts["failed"]
    return not (undescribed or recorder.counts["store"])


def _require_keyframe(bag: Bag, topics: ChosenTopics, config: BuilderConfig) -> None:
    """Find the first frame with a pose and a picture, before a model is loaded or a memory made.

    Raises:
        BagError: there is none; the message says why.
        ImageError: there are, and none can be decoded.
    """
    from vlkng_ros.bags.recording import BagMessage
    from vlkng_ros.building.selector import NewSession
    from vlkng_ros.cli.bag_events import BagEvents
    from vlkng_ros.types import Pose

    source = BagEvents(topics, config)
    selector = _selector(topics, config, source)
    bad_image: ImageError | None = None
    for event in (*source.events(_context_first(bag, topics)), None):
        if event is None:
            selector.flush()
        elif isinstance(event.item, BagMessage):
            selector.add_frame(event.stamp_ns, event.item, event.camera)
        elif event.kind == "refused":
            selector.buffer.refuse("not_a_pose", str(event.item))
        elif isinstance(event.item, Pose):
            (selector.add_pose if event.kind == "pose" else selector.add_odometry)(event.stamp_ns, event.item)
        while (taken := selector.take()) is not None:
            if isinstance(taken, NewSession):
                continue
            try:
                source.rgb_of(taken.frame)
                return
            except ImageError as error:
                bad_image = error
    if bad_image is not None:
        raise ImageError(f"{topics.image.name} in {bag.path}: {bad_image}")
    reasons = [source.why_no_pose() or selector.waiting_for, selector.buffer.last_problem, *list(source.problems)[:1]]
    told: list[str] = []
    for reason in reasons:
        if reason and not any(reason in before for before in told):
            told.append(reason)
    raise BagError(
        f"{bag.path}: no keyframe in this bag, of {selector.counts['frames']} frames on {topics.image.name}: "
        + "; ".join(told)
    )


def _selector(topics: ChosenTopics, config: BuilderConfig, source: BagEvents) -> FrameSelector[BagMessage]:
    from vlkng_ros.building.keyframe_policy import KeyframePolicy
    from vlkng_ros.building.pose_buffer import PoseBuffer
    from vlkng_ros.building.selector import FrameSelector

    buffer = PoseBuffer(
        config.robot.map_frame,
        config.pose,
        pose_topic="/tf" if source.transforms_give_pose or topics.pose is None else topics.pose.name,
        odometry_topic=topics.odometry.name if topics.odometry is not None else "odom",
    )
    policy = KeyframePolicy(config.keyframe)
    return FrameSelector(buffer, policy, clock=source.clock_s, capacity=WAITING_FRAMES)


def _context_first(bag: Bag, topics: ChosenTopics) -> Iterator[BagMessage]:
    """The messages, behind the fixed transforms and the first camera matrices, which hold for all of them."""
    fixed = [topic.name for topic in topics.transforms if topic.name.endswith("static")]
    if fixed:
        yield from bag.messages(fixed)
    for info in (topics.camera_info, *(info for _, info in topics.others.values())):
        if info is not None:
            yield from islice(bag.messages([info.name]), 1)
    yield from bag.messages([name for name in topics.names if name not in fixed])


def _counted(recording: Iterator[BagMessage], advance: Callable[[int], object]) -> Iterator[BagMessage]:
    for message in recording:
        yield message
        advance(1)


def _in_the_same_map(config: BuilderConfig, known: Iterable[Keyframe]) -> BuilderConfig:
    """What is added to a bag built in part is in its map, also where the map has no id of its own."""
    first = next(iter(known), None)
    if first is None or config.robot.map_id:
        return config
    return dataclasses.replace(config, robot=dataclasses.replace(config.robot, map_id=first.map_id))


def _report(
    recorder: KeyframeRecorder[BagMessage],
    builder: MemoryBuilder,
    source: BagEvents,
    pending: int,
    known: int,
    place: str,
) -> None:
    """Say what is not as one would wish."""
    if known:
        print(f"{known} keyframes were in the memory already{place} and are not repeated")
    if recorder.counts["sessions"] > 1:
        print(f"time jumps back in it: it became {recorder.counts['sessions']} sessions")
    no_pose = recorder.selector.counts["no_pose"] + recorder.selector.counts["dropped_waiting"]
    refused = sum(recorder.selector.buffer.refused[reason] for reason in ("frame_id", "not_a_pose", "odometry_jump"))
    for count, what, why in (
        (builder.counts["failed"], "keyframes could not be described", builder.last_error),
        (pending, "keyframes are not described yet", builder.held_up_by or "no model was asked to"),
        (recorder.counts["image"], "images could not be used", recorder.last_error),
        (recorder.counts["blurred"], "frames were blurred", "keyframe.min_sharpness"),
        (recorder.counts["store"], "keyframes could not be stored", recorder.last_error),
        (no_pose, "frames had no pose", source.why_no_pose() or recorder.selector.waiting_for),
        (refused, "poses were refused", recorder.selector.buffer.last_problem),
        *((count, "messages could not be read", problem) for problem, count in source.problems.most_common(3)),
    ):
        if count:
            print(f"{count} {what}: {why}".rstrip(": "), file=sys.stderr)


def _camera(text: str) -> tuple[str, str]:
    name, equals, topic = text.partition("=")
    if not (name and equals and topic):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=TOPIC")
    return name, topic
