"""bag_player: publishes a rosbag2 with its own clock, from whatever state the bag is in.

``ros2 bag play`` does this too, where rosbag2 is installed and the bag is whole.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rclpy
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock

from vlkng_ros.bags.bag import Bag
from vlkng_ros.bags.messages import COMPRESSED_IMAGE, IMAGE
from vlkng_ros.bags.playback import CLOCK, brings_a_clock, play
from vlkng_ros.bags.recording import BagMessage, BagTopic
from vlkng_ros.config import BagPlayerConfig
from vlkng_ros.errors import BagError
from vlkng_ros.nodes.messages import time_of
from vlkng_ros.nodes.parameters import NodeParameters
from vlkng_ros.nodes.running import log_to_ros, run_node
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.nodes.usage import Usage

SETTLED_S = 0.5
"""Discovery is taken to be over when the subscribers have been the same for so long."""
DELIVERY_S = 5.0
"""What was published last is still on its way; whoever has not acknowledged it after so long will not."""
STOP_CHECK_S = 0.1


class BagPlayer(Node):
    """Plays the bag in a thread of its own and shuts its context down at the end.

    Topics keep the names they were recorded with, and can be remapped. ``/clock`` is published with recorded time,
    unless the bag brings one.
    """

    exit_status = 0

    def __init__(self, **arguments: Any) -> None:
        """``arguments`` are those of ``rclpy.node.Node``.

        Raises:
            BagError: no bag is named, it cannot be read, or none of its message types is installed.
        """
        super().__init__("bag_player", **arguments)
        log_to_ros(self.get_logger().name)
        self.config = NodeParameters(self, BagPlayerConfig).config
        if not self.config.bag:
            raise BagError("bag_player: parameter 'bag' is empty; give the bag's folder, or its .mcap or .db3 file")
        self._bag = Bag.open(Path(self.config.bag).expanduser())
        self._outputs: dict[str, Publisher] = {}
        for topic in self._bag.topics:
            self._add_publisher(topic)
        if not self._outputs:
            self._bag.close()
            raise BagError(f"{self._bag.path}: none of its message types is installed here")
        self._ticker = None
        if not brings_a_clock(self._outputs):
            self._ticker = self.create_publisher(Clock, CLOCK, keep_last(10, reliable=True))
        self._stop = threading.Event()
        self._said = 0
        self._thread = threading.Thread(target=self._play, name="player", daemon=True)
        self._thread.start()

    def request_stop(self) -> None:
        """End playing."""
        self._stop.set()

    def close(self) -> None:
        """Wait for the player's thread and close the bag."""
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)
        self._bag.close()

    def _add_publisher(self, topic: BagTopic) -> None:
        package, _, name = topic.msgtype.partition("/msg/")
        try:
            kind = getattr(importlib.import_module(f"{package}.msg"), name)
        except (ImportError, AttributeError):
            self.get_logger().warning(f"{topic.name} is not played: {topic.msgtype} is not installed")
            return
        qos = keep_last(100, reliable=True, latched=topic.latched or topic.name.endswith("tf_static"))
        self._outputs[topic.name] = self.create_publisher(kind, topic.name, qos)

    def _play(self) -> None:
        try:
            self._wait_for_subscribers()
            played = 0
            while not self._stop.is_set():
                played += play(
                    self._bag.messages(list(self._outputs)),
                    self._publish,
                    self._tick,
                    rate=self.config.rate,
                    stop=self._stop,
                )
                self._say_problems()
                if not self.config.loop:
                    break
            self.get_logger().info(f"played {played} messages of {self._bag.path}")
            self._wait_for_delivery()
        finally:
            rclpy.try_shutdown(context=self.context)

    def _wait_for_subscribers(self) -> None:
        awaited = self._awaited()
        begin = changed = time.monotonic()
        known = 0
        while not self._stop.is_set():
            now = time.monotonic()
            count = sum(publisher.get_subscription_count() for publisher in self._outputs.values())
            if count != known:
                known, changed = count, now
            there = sum(publisher.get_subscription_count() for publisher in awaited)
            if there and now - changed >= SETTLED_S:
                return
            if now - begin >= self.config.wait_for_subscribers_s:
                if self.config.wait_for_topic:
                    self.get_logger().warning(f"nobody listens to {self.config.wait_for_topic}; playing all the same")
                return
            self._stop.wait(0.05)

    def _wait_for_delivery(self) -> None:
        end_s = time.monotonic() + DELIVERY_S
        for publisher in (*self._outputs.values(), *([self._ticker] if self._ticker is not None else [])):
            while not self._stop.is_set() and time.monotonic() < end_s:
                if publisher.wait_for_all_acked(Duration(seconds=STOP_CHECK_S)):
                    break

    def _awaited(self) -> list[Publisher]:
        """Those of which one must have a subscriber: a builder subscribes when it has loaded its model."""
        wanted = self.config.wait_for_topic
        if not wanted:
            return list(self._outputs.values())
        names = (self.resolve_topic_name(wanted), self.resolve_topic_name(f"{wanted}/compressed"))
        awaited = [publisher for publisher in self._outputs.values() if publisher.topic_name in names]
        if not awaited:
            images = [t.name for t in self._bag.topics if t.msgtype in (IMAGE, COMPRESSED_IMAGE)]
            self.get_logger().warning(f"the bag has no {names[0]}; its images are on: {', '.join(images) or 'none'}")
            return list(self._outputs.values())
        self.get_logger().info(f"waiting for somebody to listen to {wanted}")
        return awaited

    def _publish(self, message: BagMessage) -> None:
        self._outputs[message.topic].publish(message.data)

    def _tick(self, stamp_ns: int) -> None:
        if self._ticker is not None:
            self._ticker.publish(Clock(clock=time_of(stamp_ns)))

    def _say_problems(self) -> None:
        problems = self._bag.problems
        for problem in problems[self._said :]:
            self.get_logger().warning(f"{self._bag.path}: {problem}")
        self._said = len(problems)


def play_bag(bag: Path, *, rate: float, loop: bool, arguments: Sequence[str] = ()) -> int:
    """Play a bag to its end, or until told to stop; ``arguments`` are ROS arguments such as remappings."""
    values = {"bag": str(bag), "rate": rate, "loop": loop}
    overrides = [Parameter(name, value=value) for name, value in values.items()]
    return run_node(lambda: BagPlayer(parameter_overrides=overrides), arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until the bag ends or it is told to stop."""
    launch = "ros2 launch vlkng_ros replay.launch.py bag:=drive image:=/camera/image_raw"
    return run_node(BagPlayer, arguments, Usage(str(__doc__), BagPlayerConfig, launch))
