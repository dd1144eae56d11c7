"""``query_node``: answers questions from the memory, and drives to the answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from geometry_msgs.msg import PoseStamped
from rclpy.callback_groups import ReentrantCallbackGroup
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from vlkng_ros.building.health import Level, Problem
from vlkng_ros.building.pose_buffer import PoseBuffer
from vlkng_ros.config import NavigationConfig, QueryConfig
from vlkng_ros.errors import InvalidInputError
from vlkng_ros.memory import MemoryReader, open_encoder
from vlkng_ros.msg import Navigation as Report
from vlkng_ros.nodes.answer_messages import answer_markers, fill
from vlkng_ros.nodes.goals import goals_of
from vlkng_ros.nodes.managed_node import ManagedNode
from vlkng_ros.nodes.marker_shapes import delete_all
from vlkng_ros.nodes.memory_thread import MemoryThread
from vlkng_ros.nodes.messages import pose_from, pose_stamped, window_of
from vlkng_ros.nodes.navigation import Navigation
from vlkng_ros.nodes.parameters import NodeParameters
from vlkng_ros.nodes.pose_input import PoseInput
from vlkng_ros.nodes.requests import RequestError, Requests
from vlkng_ros.nodes.running import log_to_ros, run_node
from vlkng_ros.nodes.search_services import SearchServices
from vlkng_ros.nodes.searches import limit_of
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.nodes.transforms import TfPoses, open_transforms
from vlkng_ros.nodes.usage import LAUNCH, Usage
from vlkng_ros.nodes.waiting import Waiter
from vlkng_ros.srv import Ask, CancelNavigation
from vlkng_ros.types import Answer, Pose, Question

if TYPE_CHECKING:
    from vlkng_ros.answering.ask import MemoryQuery

MISSING_S = 5.0
"""A memory that is not there for so long is a problem, and not one that is about to be made."""


class QueryNode(ManagedNode):
    """Services hand their work to the memory's thread and wait for it as coroutines."""

    def __init__(self, **options: Any) -> None:
        super().__init__("query_node", **options)
        log_to_ros(self.get_logger().name)
        self._settings = NodeParameters(self, QueryConfig)
        self._group = ReentrantCallbackGroup()
        self._waiter = Waiter(self, self._group)
        self._encoder: Any = None
        self._visual: Any = None
        self._encoder_open = False
        self._transforms: Any = None
        self._memory: MemoryThread | None = None
        self._poses: PoseInput | None = None
        self._pose_source: PoseBuffer | TfPoses | None = None
        self._navigation: Navigation | None = None
        self._builders_map = ""
        latched = keep_last(1, reliable=True, latched=True)
        self._markers = self.create_publisher(MarkerArray, "~/markers", latched)
        self._goal = self.create_publisher(PoseStamped, "~/goal", latched)
        self._reports = self.create_publisher(Report, "~/navigation", keep_last(50, reliable=True))
        self.create_subscription(String, "current_map", self._take_map, latched)
        self._requests = Requests(self, self._waiter, lambda: self._memory, lambda: self.config, self._group)
        self._requests.serve(Ask, "ask", self._ask)
        self._requests.serve(CancelNavigation, "cancel_navigation", self._cancel_navigation)
        self._searches = SearchServices(self._requests, lambda: self.config, self._asker)
        self._mender = self.create_timer(1.0, self._mend, clock=self.steady_clock)
        self.start()

    @property
    def config(self) -> QueryConfig:
        """The parameters as they are now."""
        return self._settings.config

    # ------------------------------------------------------------------------------------------ lifecycle

    def configure(self) -> None:
        """Begin to follow the memory, or wait for it; what could never answer is refused."""
        config = self.config
        self._open_models(config)
        if config.pose.source == "tf" and self._transforms is None:
            self._transforms = open_transforms(self)
        self._memory = MemoryThread(lambda: self.config, self._make_query)
        self.get_logger().info(f"memory: {self._memory.path}")

    def activate(self) -> None:
        """Begin to answer."""
        config = self.config
        if config.pose.source == "tf":
            robot = config.robot
            self._pose_source = TfPoses(self._transforms, robot.map_frame, robot.base_frame, config.pose)
        else:
            buffer = PoseBuffer(
                config.robot.map_frame,
                config.pose,
                pose_topic=self.resolve_topic_name("pose"),
                odometry_topic=self.resolve_topic_name("odom"),
            )
            self._pose_source = buffer
            self._poses = PoseInput(
                self,
                config.pose,
                on_pose=buffer.add_pose,
                on_odometry=buffer.add_odometry,
                on_refused=lambda text: buffer.refuse("not_a_pose", text),
            )
        self._navigation = Navigation(
            self,
            self._navigation_config,
            where=self._where,
            publish=self._reports.publish,
            waiter=self._waiter,
            group=self._group,
        )

    def deactivate(self) -> None:
        """Answer no more; a drive under way is stopped."""
        if self._navigation is not None:
            self._navigation.stop()
            self._navigation.destroy()
        if self._poses is not None:
            self._poses.destroy()
        self._navigation = self._poses = self._pose_source = None

    def cleanup(self) -> None:
        """Let go of the memory."""
        if self._memory is not None:
            self._memory.stop()
            self._memory = None

    def _make_query(self, reader: MemoryReader, config: QueryConfig) -> MemoryQuery:
        """In the memory's thread."""
        from vlkng_ros.answering.ask import MemoryQuery

        return MemoryQuery(reader, self._encoder, config.retrieval, visual=self._visual)

    def _open_models(self, config: QueryConfig) -> None:
        """Load the encoders, once, and see whether what is configured goes together."""
        from vlkng_ros.answering.language_model import require_name
        from vlkng_ros.perception.siglip import open_visual
        from vlkng_ros.retrieval.channels import channels_of

        channels_of(config.retrieval.channels)
        if config.retrieval.answerer != "extractive" or config.retrieval.rewrite:
            require_name(config.retrieval)
        if not self._encoder_open:
            self._encoder = open_encoder(config.association.text_encoder)
            self._visual = open_visual(config.retrieval.visual_model)
            self._encoder_open = True

    def _navigation_config(self) -> NavigationConfig:
        return self.config.navigation

    # ------------------------------------------------------------------------------------------ services

    async def _ask(self, request: Ask.Request, response: Ask.Response) -> None:
        question = self._question(request)
        answer = await self._requests.in_memory(lambda memory: memory.query.ask(question), response)
        now = self.get_clock().now()
        fill(response, answer, now.nanoseconds)
        self._markers.publish(MarkerArray(markers=[delete_all(), *answer_markers(answer, now.to_msg())]))
        if answer.goal is not None:
            self._goal.publish(pose_stamped(answer.goal, now.nanoseconds))
        if request.navigate:
            await self._drive(answer, response)

    def _question(self, request: Ask.Request) -> Question:
        since_ns, as_of_ns = window_of(request)
        retrieval = self.config.retrieval
        return Question(
            text=request.question,
            since_ns=since_ns,
            as_of_ns=as_of_ns,
            asker=self._asker(request.asker),
            preset=request.preset or retrieval.preset,
            max_keyframes=limit_of(request.max_keyframes, retrieval.max_keyframes),
        )

    def _asker(self, message: PoseStamped, field: str = "asker") -> Pose | None:
        map_frame = self.config.robot.map_frame
        frame_id = message.header.frame_id.strip("/")
        if not frame_id:
            return self._where()
        if frame_id != map_frame:
            raise InvalidInputError(f"{field} is in frame '{frame_id}'; give it in '{map_frame}', or leave it empty")
        return pose_from(message)

    async def _drive(self, answer: Answer, response: Ask.Response) -> None:
        refusal = self._why_no_goal(answer)
        if refusal or self._navigation is None:
            response.navigation_state, response.navigation_message = Report.STATE_REFUSED, refusal
            self.get_logger().info(f"no goal sent: {refusal}")
            return
        navigation = self.config.navigation
        goals = goals_of(answer, approach=navigation.approach, standoff_m=navigation.standoff_m)
        report = await self._navigation.go(goals)
        response.navigation_id = report.navigation_id
        response.navigation_state = report.state
        response.navigation_message = report.message

    def _why_no_goal(self, answer: Answer) -> str:
        """Empty where the robot may be sent to the answer."""
        if answer.goal is None:
            return "the answer has no place to drive to"
        current = self.current_map
        if not current:
            return (
                "which map localisation uses is not known: set robot.map_id in both nodes, or run builder_node, whose "
                "present map is then used; without a name each start is a new map"
            )
        if answer.goal_map_id != current:
            return (
                f"the answer was seen in map '{answer.goal_map_id}' and the present one is '{current}'; if they are "
                "the same, give the map a name with robot.map_id, so that what is remembered in it stays within reach"
            )
        return ""

    @property
    def current_map(self) -> str:
        """The map that localisation uses: ``robot.map_id``, else the one that a live builder writes into."""
        named = self.config.robot.map_id
        if named:
            return named
        return self._builders_map if self.count_publishers(self.resolve_topic_name("current_map")) else ""

    def _take_map(self, message: String) -> None:
        self._builders_map = message.data

    async def _cancel_navigation(self, request: CancelNavigation.Request, response: CancelNavigation.Response) -> None:
        if self._navigation is None:
            raise RequestError(response.INACTIVE, "query_node is not active")
        response.status, response.message = await self._navigation.cancel(request.navigation_id)

    # ------------------------------------------------------------------------------------------ pose, timers, status

    def _where(self) -> Pose | None:
        found = self._pose_source.latest() if self._pose_source is not None else None
        return found.pose if found is not None else None

    def _mend(self) -> None:
        if self._poses is not None:
            self._poses.mend()

    def problems(self) -> Sequence[Problem]:
        """What is wrong now."""
        memory = self._memory
        if memory is None or memory.missing_since_s is None:
            return []
        if time.monotonic() - memory.missing_since_s < MISSING_S:
            return []
        return [Problem("memory", memory.state, Level.ERROR if memory.unusable else Level.WARN)]

    def facts(self) -> Mapping[str, object]:
        """Figures for the status."""
        where = self._where()
        return {
            "memory": self._memory.state if self._memory is not None else "closed",
            "keyframes": self._memory.keyframes if self._memory is not None else 0,
            "current map": self.current_map or "not known",
            "robot": "not known" if where is None else f"x {where.position_m[0]:.2f} m, y {where.position_m[1]:.2f} m",
            "navigation state": self._navigation.state if self._navigation is not None else 0,
            "last error": self._requests.last_error,
            **self._requests.counts,
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node until it is told to stop."""
    return run_node(QueryNode, arguments, Usage(str(__doc__), QueryConfig, LAUNCH))
