"""``vlkng build``: a recording to a memory, without a running robot."""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from vlkng_ros.cli import arguments
from vlkng_ros.cli.parameters import add_parameters, read_parameters
from vlkng_ros.config import BuilderConfig
from vlkng_ros.errors import BagError

if TYPE_CHECKING:
    from vlkng_ros.bags.bag import Bag
    from vlkng_ros.bags.recording import BagMessage
    from vlkng_ros.bags.topics import ChosenTopics
    from vlkng_ros.building.pipeline import MemoryBuilder
    from vlkng_ros.cli.bag_feed import BagFeed

GIVE_UP_S = 120.0
"""Without any keyframe described for so long, the rest is left pending."""
DEFAULT_CHUNK = 8
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
    ):
        parser.add_argument(f"--{name}", default="", metavar="TOPIC", help=what)
    parser.add_argument("--map-id", metavar="ID", help="robot.map_id")
    parser.add_argument("--backend", metavar="NAME", help="perception.backend")
    parser.add_argument("--model", metavar="MODEL", help="perception.model")
    add_parameters(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Build the memory."""
    from vlkng_ros.bags.bag import Bag
    from vlkng_ros.bags.topics import choose_topics

    named = {
        "memory.path": str(args.memory),
        "robot.map_id": args.map_id,
        "perception.backend": args.backend,
        "perception.model": args.model,
    }
    config = read_parameters(BuilderConfig, args, named, node="builder_node")
    begin = time.monotonic()
    with Bag.open(args.bag) as bag:
        topics = choose_topics(
            bag.topics, image=args.image, camera_info=args.camera_info, pose=args.pose, odometry=args.odom
        )
        chosen = [topics.image, topics.camera_info, topics.pose, topics.odometry]
        logger.info("topics: %s", ", ".join(topic.name for topic in chosen if topic is not None))
        for problem in bag.problems:
            print(f"{args.bag}: {problem}", file=sys.stderr)
        said = len(bag.problems)
        try:
            feed = _build(bag, topics, config)
        finally:
            for problem in bag.problems[said:]:
                print(f"{args.bag}: {problem}", file=sys.stderr)
        _report(args, bag, feed, time.monotonic() - begin)
    return 0


def _build(bag: Bag, topics: ChosenTopics, config: BuilderConfig) -> BagFeed:
    from vlkng_ros.building.pipeline import MemoryBuilder
    from vlkng_ros.cli.bag_feed import BagFeed
    from vlkng_ros.cli.memories import known_stamps, open_writer_with
    from vlkng_ros.cli.progress import progress
    from vlkng_ros.perception import PerceptionWorker

    woken = threading.Event()
    in_flight = config.perception.batch_size or DEFAULT_CHUNK
    with ExitStack() as resources:
        known_ns = known_stamps(config.memory.path, config.camera.name)
        describe = None
        if config.perception.backend != "none":
            worker = PerceptionWorker(config.perception, queue_size=2 * in_flight)
            worker.start()
            resources.callback(worker.stop)
            describe = worker.submit

        def open_builder() -> MemoryBuilder:
            writer = resources.enter_context(open_writer_with(config))
            return MemoryBuilder(writer, describe, config, in_flight=in_flight, wake=woken.set)

        feed = BagFeed(topics, config, open_builder, known_ns=known_ns)
        with progress(f"build {bag.path.name}", bag.count(topics.names), "messages") as advance:
            for message in _with_camera_first(bag, topics):
                feed.take(message)
                advance(1)
                # The recording waits for the model, where a robot would have to drop frames.
                while feed.builder is not None and feed.builder.queued >= config.keyframe.queue_size:
                    woken.clear()
                    feed.builder.poll()
                    woken.wait(timeout=0.2)
            feed.finish()
        if feed.builder is not None and describe is not None:
            _describe_rest(feed.builder)
        if feed.builder is None and not feed.counts["known"]:
            raise BagError(f"{bag.path}: no keyframe in this bag: {feed.why_nothing()}")
        return feed


def _with_camera_first(bag: Bag, topics: ChosenTopics) -> Iterator[BagMessage]:
    """The messages, behind the first camera matrix and the fixed transforms, which hold for all of them."""
    fixed = [topic.name for topic in topics.transforms if topic.name.endswith("static")]
    yield from bag.messages(fixed) if fixed else ()
    if topics.camera_info is not None:
        first = next(iter(bag.messages([topics.camera_info.name])), None)
        yield from [first] if first is not None else []
    yield from bag.messages([name for name in topics.names if name not in fixed])


def _describe_rest(builder: MemoryBuilder) -> None:
    from vlkng_ros.cli.progress import progress

    waiting = builder.queued
    with progress("describe", waiting, "keyframes") as advance:
        last_change = time.monotonic()
        done = builder.counts["described"] + builder.counts["failed"]
        while not builder.finish(timeout_s=1.0):
            now = builder.counts["described"] + builder.counts["failed"]
            if now != done:
                advance(now - done)
                done, last_change = now, time.monotonic()
            elif time.monotonic() - last_change > GIVE_UP_S:
                return


def _report(args: argparse.Namespace, bag: Bag, feed: BagFeed, seconds: float) -> None:
    recorded_s = (bag.end_ns - bag.start_ns) / 1e9
    print(
        f"{args.memory}: {feed.counts['keyframes']} keyframes from {recorded_s:.1f} s of {args.bag}, in {seconds:.1f} s"
    )
    if feed.counts["known"]:
        print(f"{feed.counts['known']} keyframes were in the memory already and are not repeated")
    if feed.counts["sessions"] > 1:
        print(f"time jumps back in it: it became {feed.counts['sessions']} sessions")
    builder = feed.builder
    if builder is not None:
        counts = builder.counts
        left = counts["stored"] - counts["described"] - counts["failed"]
        if counts["failed"] or left > 0:
            print(
                f"{counts['failed']} could not be described and {max(0, left)} wait to be: {builder.last_error}",
                file=sys.stderr,
            )
    for what, text in (
        ("bad_messages", "messages could not be used"),
        ("bad_images", "images could not be used"),
        ("blurred", "frames were blurred"),
    ):
        if feed.counts[what]:
            print(f"{feed.counts[what]} {text}: {feed.last_problem}", file=sys.stderr)
    no_pose = feed.selector.counts["no_pose"]
    if no_pose:
        print(f"{no_pose} frames had no pose: {feed.selector.waiting_for}", file=sys.stderr)
