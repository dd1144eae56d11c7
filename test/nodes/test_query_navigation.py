import pytest
from clients import Caller
from fake_nav2 import ABORT, DEAF, HANG, REACH, REJECT, FakeNav2, FakePlanner, Nav2InThread
from rclpy.node import Node
from remembered import make_memory, open_writer
from running_nodes import overrides
from std_msgs.msg import String

from vlkng_ros.msg import Navigation
from vlkng_ros.nodes.query_node import QueryNode
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.srv import CancelNavigation
from vlkng_ros.types import OPTICAL_IN_BODY, Capture, Detection, Intrinsics, Perception, Pose


class Driving:
    """A query node over a small memory, a Nav2 that behaves as planned, and what was published."""

    def __init__(self, robot, run_in_thread, path, servers) -> None:
        self.robot, self.path, self._run, self._servers = robot, path, run_in_thread, servers
        self.caller = Caller(robot)
        robot.hear(Navigation, "query_node/navigation", robot.navigation)

    def nav2(self, *plan, **options) -> FakeNav2:
        self._servers.append(Nav2InThread(FakeNav2(plan, **options)))
        return self._servers[-1].node

    def start(self, map_id="office", **parameters):
        # A busy machine may take its time with a reply; a server that is absent is not waited for long.
        parameters = {"navigation__server_wait_s": 1.0, "navigation__response_wait_s": 20.0, **parameters}
        self.query = self._run(
            QueryNode(
                parameter_overrides=overrides(
                    memory__path=str(self.path), association__text_encoder="none", robot__map_id=map_id, **parameters
                )
            )
        )
        self.robot.until(lambda: self.query.is_active, "query_node to be active")
        self.robot.until(lambda: self.robot.count_publishers("query_node/navigation") > 0, "~/navigation")

    def go(self, question="Where is the red ball?"):
        return self.caller.ask(question, navigate=True)

    def states(self, navigation_id):
        return [report.state for report in self.robot.navigation if report.navigation_id == navigation_id]

    def until(self, navigation_id, state):
        self.robot.until(lambda: state in self.states(navigation_id), f"state {state}")
        return next(r for r in self.robot.navigation if r.navigation_id == navigation_id and r.state == state)


@pytest.fixture
def driving(robot, run_in_thread, memory_path):
    make_memory(memory_path)
    servers = []
    yield Driving(robot, run_in_thread, memory_path, servers)
    for server in servers:
        server.stop()


def test_a_goal_is_sent_as_a_planar_pose_and_its_course_is_published(driving):
    nav2 = driving.nav2(REACH, at_once=False)
    driving.start()
    reply = driving.go()
    assert reply.navigation_state == Navigation.STATE_ACTIVE, reply.navigation_message
    assert reply.navigation_id != ""
    goal = nav2.goals[0].pose
    assert goal.header.frame_id == "map"
    assert goal.pose.position.x == pytest.approx(reply.keyframes[0].pose.pose.position.x)
    assert (goal.pose.orientation.x, goal.pose.orientation.y) == (0.0, 0.0)
    driving.robot.until(lambda: any(r.has_feedback for r in driving.robot.navigation), "feedback")
    feedback = next(r for r in driving.robot.navigation if r.has_feedback)
    assert feedback.distance_remaining_m == pytest.approx(3.5)
    assert feedback.number_of_recoveries == 1
    nav2.arrive()
    arrived = driving.until(reply.navigation_id, Navigation.STATE_SUCCEEDED)
    assert arrived.attempt == 1
    assert arrived.keyframe_id == reply.keyframes[0].keyframe_id


def test_a_rejected_goal_gives_way_to_the_next_keyframe_before_the_reply(driving):
    nav2 = driving.nav2(REJECT, REACH)
    driving.start()
    reply = driving.go()
    assert reply.navigation_state in (Navigation.STATE_ACTIVE, Navigation.STATE_SUCCEEDED)
    assert len(nav2.goals) == 2
    retry = driving.until(reply.navigation_id, Navigation.STATE_RETRYING)
    assert f"Nav2 rejected the pose of keyframe {reply.keyframes[0].keyframe_id}" in retry.message
    assert driving.until(reply.navigation_id, Navigation.STATE_SUCCEEDED).attempt == 2


def test_an_aborted_goal_gives_way_to_the_next_keyframe_with_nav2s_reason(driving):
    nav2 = driving.nav2(ABORT, REACH)
    driving.start()
    reply = driving.go()
    retry = driving.until(reply.navigation_id, Navigation.STATE_RETRYING)
    assert retry.message.endswith("(error 207): no path; trying the next keyframe")
    assert retry.error_code == 207
    driving.until(reply.navigation_id, Navigation.STATE_SUCCEEDED)
    assert nav2.goals[0].pose.pose.position.x != nav2.goals[1].pose.pose.position.x


def test_no_more_goals_are_tried_than_allowed(driving):
    nav2 = driving.nav2(ABORT)
    driving.start(navigation__max_attempts=2)
    reply = driving.go()
    assert driving.until(reply.navigation_id, Navigation.STATE_ABORTED).attempt == 2
    assert len(nav2.goals) == 2


def test_goals_that_are_all_rejected_are_replied_as_rejected(driving):
    driving.nav2(REJECT)
    driving.start(navigation__max_attempts=2)
    assert driving.go().navigation_state == Navigation.STATE_REJECTED


def test_without_a_server_the_reply_says_so_within_the_bound(driving):
    driving.start(navigation__server_wait_s=0.2)
    reply = driving.go()
    assert reply.status == reply.OK
    assert reply.navigation_state == Navigation.STATE_NO_SERVER
    assert reply.navigation_message == (
        "no action server on /navigate_to_pose within 0.2 s; start Nav2, or set navigation.action"
    )


def test_a_drive_that_takes_too_long_is_cancelled(driving):
    nav2 = driving.nav2(HANG)
    driving.start(navigation__result_wait_s=1.0)
    reply = driving.go()
    end = driving.until(reply.navigation_id, Navigation.STATE_TIMEOUT)
    assert end.message == "not there within 1 s; the goal was cancelled"
    driving.robot.until(lambda: nav2.cancelled == 1, "the cancel request")


def test_a_server_that_dies_in_mid_drive_is_noticed(driving, run_process):
    # DDS takes a dead process for gone after its lease, 20 s by default.
    nav2 = run_process("fake_nav2.py")
    driving.start()
    nav2.wait_for("heard a client")
    driving.robot.until(lambda: driving.query._navigation._client.server_is_ready(), "the server")
    reply = driving.go()
    assert reply.navigation_state == Navigation.STATE_ACTIVE
    nav2.kill()
    end = driving.until(reply.navigation_id, Navigation.STATE_NO_SERVER)
    assert end.message == "the action server on /navigate_to_pose went away during the drive"


def test_a_drive_is_cancelled_on_request(driving):
    nav2 = driving.nav2(HANG)
    driving.start()
    reply = driving.go()
    request = CancelNavigation.Request(navigation_id=reply.navigation_id)
    cancelled = driving.caller.call(CancelNavigation, "cancel_navigation", request)
    assert cancelled.status == CancelNavigation.Response.OK, cancelled.message
    driving.until(reply.navigation_id, Navigation.STATE_CANCELED)
    assert nav2.cancelled == 1
    assert len(nav2.goals) == 1
    again = driving.caller.call(CancelNavigation, "cancel_navigation", request)
    assert again.status == CancelNavigation.Response.NOT_FOUND


def test_a_cancel_that_nav2_refuses_is_reported(driving):
    driving.nav2(HANG, refuse_cancel=True)
    driving.start()
    driving.go()
    reply = driving.caller.call(CancelNavigation, "cancel_navigation", CancelNavigation.Request())
    assert reply.status == CancelNavigation.Response.ERROR
    assert "Nav2 refused to cancel" in reply.message


def test_a_new_question_takes_over_from_the_drive_under_way(driving):
    nav2 = driving.nav2(HANG, REACH)
    driving.start()
    first = driving.go()
    second = driving.go("Where is the blue ball?")
    driving.until(first.navigation_id, Navigation.STATE_PREEMPTED)
    driving.until(second.navigation_id, Navigation.STATE_SUCCEEDED)
    assert [goal.pose.pose.position.x for goal in nav2.goals][1] == pytest.approx(41.0)


def test_a_robot_that_stands_there_already_is_not_sent(driving):
    nav2 = driving.nav2(REACH)
    driving.start()
    driving.robot.until(lambda: driving.robot.poses.get_subscription_count() > 0, "query_node to subscribe to pose")
    driving.robot.localise(500.0, 41.1, yaw=0.4)
    driving.robot.until(lambda: driving.query._where() is not None, "the pose to arrive")
    reply = driving.go("Where is the blue ball?")
    assert reply.navigation_state == Navigation.STATE_ALREADY_THERE
    assert nav2.goals == []


def test_a_server_that_never_replies_to_the_goal_is_given_up_and_the_goal_taken_back(driving):
    nav2 = driving.nav2(DEAF)
    driving.start(navigation__response_wait_s=0.5)
    reply = driving.go()
    assert reply.navigation_state == Navigation.STATE_TIMEOUT
    assert reply.navigation_message == "/navigate_to_pose: no reply to the goal within 0.5 s"
    nav2.arrive()
    # Asked at once, and again when the goal turns out to be accepted.
    driving.robot.until(lambda: nav2.cancelled >= 1, "the cancel request")


def test_other_questions_are_answered_while_nav2_does_not_reply(driving):
    driving.nav2(HANG)
    driving.start()
    reply = driving.go()
    assert driving.caller.ask("Where is the blue ball?").position.pose.position.x == pytest.approx(41.0)
    driving.until(reply.navigation_id, Navigation.STATE_ACTIVE)
    assert set(driving.states(reply.navigation_id)) <= {Navigation.STATE_SENDING, Navigation.STATE_ACTIVE}


def test_an_object_whose_place_is_known_is_approached_and_faced(driving, memory_path):
    memory_path.unlink()
    with open_writer(memory_path) as writer:
        writer.start_session(robot="robot", map_id="office", frame_id="map")
        base = Pose.planar("map", 2.0, 1.0, 0.0)
        camera = base.compose(Pose("base_link", (0.0, 0.0, 0.5), OPTICAL_IN_BODY))
        k = Intrinsics(50, 50, 32, 24, 64, 48)
        frame = writer.add_keyframe(Capture(10**9, base, camera, "camera", k, (64, 48)), None)
        ball = Detection("red ball", (28.0, 20.0, 36.0, 28.0), 0.9, depth_m=4.0)
        writer.add_perception(frame.keyframe_id, Perception("a red ball", (ball,), backend="test"))
        writer.associate(frame.keyframe_id)
    nav2 = driving.nav2(REACH)
    driving.start(navigation__approach=True, navigation__standoff_m=1.5)
    reply = driving.go()
    driving.until(reply.navigation_id, Navigation.STATE_SUCCEEDED)
    goal = nav2.goals[0].pose.pose
    assert (goal.position.x, goal.position.y) == pytest.approx((4.5, 1.0), abs=0.05)
    assert goal.orientation.w == pytest.approx(1.0, abs=1e-3)


def test_a_goal_without_a_way_is_passed_over_before_the_robot_sets_off(driving):
    nav2 = driving.nav2(REACH)
    driving._servers.append(Nav2InThread(FakePlanner(reach_m=50.0)))
    driving.start(navigation__check_path=True)
    driving.robot.until(lambda: driving.query._navigation._path_check._client.server_is_ready(), "the planner")
    # The red ball was last seen at x = 61 m, behind the wall, and before that at x = 1 m.
    reply = driving.go("Where did you last see the red ball?")
    driving.until(reply.navigation_id, Navigation.STATE_SUCCEEDED)
    retry = driving.until(reply.navigation_id, Navigation.STATE_RETRYING)
    assert "the planner finds no way there: goal is behind a wall" in retry.message
    assert nav2.goals
    assert all(goal.pose.pose.position.x < 50.0 for goal in nav2.goals)


def test_a_planner_that_is_absent_forbids_nothing(driving):
    driving.nav2(REACH)
    driving.start(navigation__check_path=True)
    reply = driving.go()
    driving.until(reply.navigation_id, Navigation.STATE_SUCCEEDED)


# ------------------------------------------------------------------------------------------ which map


def test_a_goal_in_another_map_is_refused_with_the_parameters_name(driving):
    nav2 = driving.nav2(REACH)
    driving.start(map_id="warehouse")
    reply = driving.go()
    assert reply.status == reply.OK
    assert reply.navigation_state == Navigation.STATE_REFUSED
    assert "map 'office' and the present one is 'warehouse'" in reply.navigation_message
    assert "robot.map_id" in reply.navigation_message
    assert nav2.goals == []


def test_without_a_map_name_and_without_a_builder_goals_are_refused(driving):
    driving.nav2(REACH)
    driving.start(map_id="")
    reply = driving.go()
    assert reply.navigation_state == Navigation.STATE_REFUSED
    assert "set robot.map_id in both nodes, or run builder_node" in reply.navigation_message


def test_without_a_map_name_goals_are_taken_in_the_map_of_the_builder_that_runs(driving):
    driving.nav2(REACH)
    driving.start(map_id="")
    builder = Node("a_builder")
    publisher = builder.create_publisher(String, "current_map", keep_last(1, reliable=True, latched=True))
    publisher.publish(String(data="office"))
    driving.robot.until(lambda: driving.query.current_map == "office", "the map's name")
    assert driving.go().navigation_state in (Navigation.STATE_ACTIVE, Navigation.STATE_SUCCEEDED)
    builder.destroy_publisher(publisher)
    driving.robot.until(lambda: driving.query.current_map == "", "the builder to be gone")
    assert driving.go().navigation_state == Navigation.STATE_REFUSED
    builder.destroy_node()
