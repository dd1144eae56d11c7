"""Subscriptions that find out why nothing comes: no publisher, another type, or a QoS that does not match."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
)

from vlkng_ros.building.health import Durations
from vlkng_ros.errors import ConfigError

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # its name in Humble
    from rclpy.qos_event import SubscriptionEventCallbacks

POLICIES = {
    QoSPolicyKind.RELIABILITY: "reliability",
    QoSPolicyKind.DURABILITY: "durability",
    QoSPolicyKind.DEADLINE: "deadline",
    QoSPolicyKind.LIVELINESS: "liveliness",
}


def keep_last(depth: int, *, reliable: bool, latched: bool = False) -> QoSProfile:
    """The usual QoS; ``latched`` also gets what was published before."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def type_name(kind: type[Any]) -> str:
    """``sensor_msgs/msg/Image`` of a message class."""
    return f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"


class WatchedSubscription:
    """One subscription that knows how to explain its silence.

    Args:
        node: subscribes.
        kind: message class.
        topic: name before remapping.
        callback: takes a message.
        depth: messages kept.
        reliable: QoS wanted.
        insist: keep the wanted QoS although a publisher offers less; otherwise the subscription takes what is offered.
        latched: get what was published before, where the publishers keep it; a parked robot's pose may be old.
        group: callback group.
    """

    def __init__(
        self,
        node: Node,
        kind: type[Any],
        topic: str,
        callback: Callable[[Any], None],
        *,
        depth: int,
        reliable: bool,
        insist: bool = False,
        latched: bool = False,
        group: CallbackGroup | None = None,
    ) -> None:
        self.topic = node.resolve_topic_name(topic)
        self.kind = type_name(kind)
        self.received = 0
        self.delays = Durations()
        """From the middleware's receipt of a message until its callback is done."""
        self._node = node
        self._class = kind
        self._name = topic
        self._callback = callback
        self._depth = depth
        self._reliable = reliable
        self._insist = insist
        self._group = group
        self._want_latched = latched
        self._latched = latched and self._all_latched()
        self._incompatible = ""
        self._subscription = self._subscribe()

    def _subscribe(self) -> Any:
        """Subscribe.

        Raises:
            ConfigError: this node takes the topic as another type already, which the middleware cannot do.
        """
        mine = (self._node.get_name(), self._node.get_namespace())
        for info in self._node.get_subscriptions_info_by_topic(self.topic):
            if (info.node_name, info.node_namespace) == mine and info.topic_type != self.kind:
                raise ConfigError(
                    f"{self._name}: {self.topic} is taken as {info.topic_type} already, and cannot be as {self.kind} "
                    "too; remap one of them, or say what it is (pose.type)"
                )
        return self._node.create_subscription(
            self._class,
            self._name,
            self._take,
            keep_last(self._depth, reliable=self._reliable, latched=self._latched),
            callback_group=self._group,
            event_callbacks=SubscriptionEventCallbacks(incompatible_qos=self._on_incompatible),
        )

    def _take(self, message: Any, info: Any) -> None:
        self.received += 1
        self._callback(message)
        received_ns = info.get("received_timestamp", 0)
        if received_ns > 0:
            self.delays.add((time.time_ns() - received_ns) * 1e-9)

    def _on_incompatible(self, event: Any) -> None:
        self._incompatible = POLICIES.get(QoSPolicyKind(event.last_policy_kind), "QoS")

    def _all_latched(self) -> bool:
        infos = [i for i in self._node.get_publishers_info_by_topic(self.topic) if i.topic_type == self.kind]
        return bool(infos) and all(i.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for i in infos)

    def mend(self) -> None:
        """Take the QoS that publishers offer; call it from time to time, never from the QoS event itself."""
        reliable = self._reliable and (self._insist or self._incompatible != "reliability")
        latched = self._want_latched and self._all_latched()
        if (reliable, latched) == (self._reliable, self._latched):
            return
        if reliable != self._reliable:
            self._node.get_logger().warning(f"{self.topic}: its publisher's QoS is best effort; taking that")
        self._reliable, self._latched, self._incompatible = reliable, latched, ""
        self._node.destroy_subscription(self._subscription)
        self._subscription = self._subscribe()

    def destroy(self) -> None:
        """Stop receiving."""
        self._node.destroy_subscription(self._subscription)

    def why_silent(self) -> str:
        """What may be wrong when nothing arrives, and what to do."""
        if self._incompatible:
            return (
                f"a publisher's {self._incompatible} QoS does not match ours ('{self._offered()}' is offered, "
                f"'{'reliable' if self._reliable else 'best_effort'}' is wanted)"
            )
        others = {info.topic_type for info in self._node.get_publishers_info_by_topic(self.topic)}
        if self.kind in others:
            return "its publisher is silent"
        if others:
            return f"it is published as {', '.join(sorted(others))}, not {self.kind}"
        same = [
            name for name, types in self._node.get_topic_names_and_types() if self.kind in types and name != self.topic
        ]
        published = [name for name in same if self._node.count_publishers(name)]
        if published:
            return f"nobody publishes it; published as {self.kind}: {', '.join(sorted(published)[:5])}; remap the topic"
        return "nobody publishes it"

    def _offered(self) -> str:
        infos = self._node.get_publishers_info_by_topic(self.topic)
        policies = {info.qos_profile.reliability.name.lower() for info in infos if info.topic_type == self.kind}
        return ", ".join(sorted(policies)) or "nothing"
