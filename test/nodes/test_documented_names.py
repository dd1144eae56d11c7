"""What the nodes are called by in the graph is what README.md says: an SROS2 policy can be written from its tables."""

import re
from pathlib import Path

import pytest
from colour_builder import ColourBuilder
from rclpy.action.graph import get_action_client_names_and_types_by_node
from ruamel.yaml import YAML
from running_nodes import overrides

from vlkng_ros.nodes.query_node import QueryNode

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
OF_ROS = {"/parameter_events", "/rosout"}
"""Topics that every node has."""
OF_LIFECYCLE = {
    "change_state",
    "get_state",
    "get_available_states",
    "get_available_transitions",
    "get_transition_graph",
}
OF_PARAMETERS = {
    "describe_parameters",
    "get_parameters",
    "get_parameter_types",
    "list_parameters",
    "set_parameters",
    "set_parameters_atomically",
    "get_type_description",
}
ELSEWHERE = {"/image/compressed", "/current_map"}
"""Subscribed to in place of another, or by the other node."""


def documented():
    """(name, type, node, direction) of the table of topics."""
    rows = re.findall(r"^\| (`[/~a-z_`, ]+`) \| `(\w+)/(\w+)` \| ([a-z, ;]+) \|", README, re.MULTILINE)
    found = set()
    for names, package, kind, where in rows:
        for part in where.split(";"):
            who, _, direction = (word.strip() for word in part.partition(","))
            for node in ("builder", "query") if who == "both" else (who,):
                for name in re.findall(r"`([^`]+)`", names):
                    full = name.replace("~", f"/{node}_node") if name[0] in "/~" else f"/{name}"
                    found.add((full, f"{package}/msg/{kind}", node, direction))
    return found


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """Both nodes with everything on, seen by a third."""
    from fake_robot import FakeRobot
    from running_nodes import NodeInThread

    db = str(tmp_path_factory.mktemp("names") / "memory.db")
    both = {"memory__path": db, "association__text_encoder": "none"}
    robot = FakeRobot()
    with NodeInThread(robot):
        builder = ColourBuilder(
            parameter_overrides=overrides(
                **both, camera__extrinsics="tf", camera__others="rear", camera__depth=True, pose__follow_map=True
            )
        )
        query = QueryNode(parameter_overrides=overrides(**both, navigation__check_path=True))
        with NodeInThread(builder), NodeInThread(query):
            robot.until(lambda: builder.is_active and query.is_active, "both nodes to be active")
            robot.until(lambda: "/query_node/goal" in topics(robot, "query", "out"), "discovery")
            robot.until(lambda: "/depth" in topics(robot, "builder", "in"), "discovery")
            yield robot


def topics(robot, node, direction):
    by_node = (
        robot.get_publisher_names_and_types_by_node
        if direction == "out"
        else robot.get_subscriber_names_and_types_by_node
    )
    return {name: types for name, types in by_node(f"{node}_node", "/") if name not in OF_ROS}


@pytest.mark.parametrize("node", ["builder", "query"])
@pytest.mark.parametrize("direction", ["in", "out"])
def test_every_topic_is_in_the_readmes_table_with_its_type_and_every_one_there_exists(graph, node, direction):
    live = {
        (name, kind, node, direction)
        for name, types in topics(graph, node, direction).items()
        for kind in types
        if not name.endswith(("/transition_event", "/_action/feedback", "/_action/status")) and name[:6] != "/rear/"
    }
    expected = {row for row in documented() if row[2:] == (node, direction)}
    assert live <= expected
    missing = {name for name, *_ in expected - live}
    # Without TF as its source of poses, query_node does not listen to it.
    assert missing <= ELSEWHERE | ({"/tf", "/tf_static"} if node == "query" else set())


def test_further_cameras_have_their_topics_under_their_names(graph):
    assert {name for name in topics(graph, "builder", "in") if name.startswith("/rear/")} == {
        "/rear/image",
        "/rear/camera_info",
    }


@pytest.mark.parametrize("node", ["builder", "query"])
def test_every_service_is_in_the_readmes_table(graph, node):
    table = set(re.findall(r"^\| \[`(\w+)`\]\(srv/", README, re.MULTILINE))
    mine = {kind for kind in table if (kind == "Forget") == (node == "builder")}
    expected = {re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower() for kind in mine}
    live = {name.rsplit("/", 1)[1] for name, _ in graph.get_service_names_and_types_by_node(f"{node}_node", "/")}
    assert live - OF_LIFECYCLE - OF_PARAMETERS == expected


def test_every_action_is_in_the_readme(graph):
    found = dict(get_action_client_names_and_types_by_node(graph, "query_node", "/"))
    assert found == {
        "/navigate_to_pose": ["nav2_msgs/action/NavigateToPose"],
        "/compute_path_to_pose": ["nav2_msgs/action/ComputePathToPose"],
    }
    for name, (kind,) in found.items():
        assert f"`{name[1:]}` (`{kind.replace('/action', '')}`)" in README


# ------------------------------------------------------------------------------------------ RViz

TYPES = {
    "MarkerArray": "visualization_msgs/msg/MarkerArray",
    "Pose": "geometry_msgs/msg/PoseStamped",
    "PoseWithCovariance": "geometry_msgs/msg/PoseWithCovarianceStamped",
    "Image": "sensor_msgs/msg/Image",
}


def test_rviz_is_set_up_for_every_topic_that_can_be_seen_with_its_type_and_qos(graph):
    config = YAML(typ="safe").load(ROOT / "config" / "vlkng.rviz")
    displays = {
        display["Topic"]["Value"]: display
        for display in config["Visualization Manager"]["Displays"]
        if display["Class"].split("/")[1] in TYPES
    }
    shown = {topic: TYPES[display["Class"].split("/")[1]] for topic, display in displays.items()}
    types = {name: kind for name, kind, *_ in documented()}
    assert {topic: types[topic] for topic in shown} == shown
    ours = {name: kind for name, kind, _, direction in documented() if direction == "out" and kind in TYPES.values()}
    assert ours.items() <= shown.items()
    for topic in ours:
        (publisher,) = graph.get_publishers_info_by_topic(topic)
        wanted = displays[topic]["Topic"]
        assert wanted["Durability Policy"].replace(" ", "_").upper() == publisher.qos_profile.durability.name
        assert wanted["Reliability Policy"].replace(" ", "_").upper() == publisher.qos_profile.reliability.name
