import json
import threading

import pytest
from clients import Caller
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.parameter import Parameter
from remembered import make_memory, open_writer, remember
from running_nodes import overrides

from vlkng_ros.nodes.messages import ns_of, time_of
from vlkng_ros.nodes.query_node import QueryNode
from vlkng_ros.srv import Ask, CancelNavigation, ExportGraph, GetObject, SearchByLabel, SearchByPosition, SearchByTime

S = 1_000_000_000


@pytest.fixture
def query(run_in_thread, memory_path):
    return run_in_thread(
        QueryNode(parameter_overrides=overrides(memory__path=str(memory_path), association__text_encoder="none"))
    )


@pytest.fixture
def caller(robot, query):
    return Caller(robot)


def test_where_is_answered_with_place_frames_objects_and_goal(caller, memory_path):
    ids = make_memory(memory_path)
    reply = caller.ask("Where is the green ball?")
    assert reply.status == Ask.Response.OK, reply.message
    assert reply.kind == Ask.Response.KIND_POSITION
    assert reply.position.pose.position.x == pytest.approx(21.0)
    assert reply.position.header.frame_id == "map"
    assert reply.keyframes[0].keyframe_id == ids[1]
    assert reply.keyframes[0].has_box
    assert list(reply.keyframes[0].box_px) == [16.0, 12.0, 48.0, 36.0]
    assert reply.keyframes[0].label == "green ball"
    assert reply.keyframes[0].map_id == "office"
    assert reply.objects[0].label == "green ball"
    assert reply.has_goal
    assert reply.goal.pose.position.x == pytest.approx(21.0)
    assert reply.goal.pose.position.z == 0.0
    assert list(reply.citations) == [ids[1]]
    assert dict(zip(reply.stages, reply.stage_ms, strict=True))["total"] > 0
    assert reply.navigation_id == ""


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"retrieval__answerer": "llm"}, "retrieval.answerer is 'llm' and retrieval.model is empty"),
        ({"retrieval__channels": "lexical, magic"}, "there is no channel 'magic'"),
        ({"association__text_encoder": "/nowhere"}, "text encoder '/nowhere': there is no such folder"),
    ],
)
def test_what_could_never_answer_is_said_at_the_start(memory_path, parameters, says):
    given = {"memory__path": str(memory_path), "association__text_encoder": "none", "autostart": False, **parameters}
    node = QueryNode(parameter_overrides=overrides(**given))
    node.trigger_configure()
    assert says in node.failure
    node.close()
    node.destroy_node()


def test_when_did_you_see_is_answered_with_a_time(caller, memory_path):
    make_memory(memory_path)
    reply = caller.ask("When did you last see the red ball?")
    assert reply.kind == Ask.Response.KIND_TIME
    assert ns_of(reply.time) == 130 * S


def test_did_you_see_is_answered_with_yes_or_no(caller, memory_path):
    make_memory(memory_path)
    assert caller.ask("Did you see a blue ball?").binary is True
    unseen = caller.ask("Where is the elephant?")
    assert unseen.status == Ask.Response.NOT_FOUND
    assert unseen.message != ""
    assert not unseen.has_goal


def test_a_question_as_of_a_time_knows_nothing_later_and_zero_is_a_time(caller, memory_path):
    make_memory(memory_path)
    then = caller.ask("When did you last see the red ball?", use_as_of=True, as_of=time_of(115 * S))
    assert ns_of(then.time) == 100 * S
    never = caller.ask("Where is the red ball?", use_as_of=True, as_of=time_of(0))
    assert never.status in (Ask.Response.NOT_FOUND, Ask.Response.EMPTY_MEMORY)


def test_a_memory_that_does_not_exist_yet_is_said_to_be_missing_and_answered_from_once_it_is_there(caller, memory_path):
    reply = caller.ask("Where is the red ball?")
    assert reply.status == Ask.Response.EMPTY_MEMORY
    assert f"{memory_path}: no memory there yet; start builder_node, or set memory.path" in reply.message
    make_memory(memory_path)
    assert caller.ask("Where is the blue ball?").position.pose.position.x == pytest.approx(41.0)


def test_the_memory_is_followed_while_it_grows(caller, memory_path):
    with open_writer(memory_path) as writer:
        writer.start_session(robot="robot", map_id="office", frame_id="map")
        remember(writer, 100.0, 1.0, "red")
        assert caller.ask("Where is the green ball?").status == Ask.Response.NOT_FOUND
        remember(writer, 101.0, 5.0, "green")
        assert caller.ask("Where is the green ball?").position.pose.position.x == pytest.approx(5.0)


def test_a_memory_that_was_replaced_is_opened_anew(caller, memory_path):
    make_memory(memory_path)
    assert caller.ask("Where is the blue ball?").status == Ask.Response.OK
    for file in memory_path.parent.glob("memory.db*"):
        file.unlink()
    make_memory(memory_path, seen=((10.0, 3.0, "green"),))
    assert caller.ask("Where is the green ball?").position.pose.position.x == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("request_fields", "words"),
    [
        ({"question": "   "}, "question"),
        ({"question": "Where is it?", "preset": "magic"}, "magic"),
        ({"question": "Where is the ball?", "use_since": True, "since": time_of(9 * S), "use_as_of": True}, "window"),
    ],
)
def test_a_request_that_cannot_be_understood_says_which_part(caller, memory_path, request_fields, words):
    make_memory(memory_path)
    reply = caller.call(Ask, "ask", Ask.Request(**request_fields))
    assert reply.status == Ask.Response.INVALID
    assert words in reply.message


def test_nearest_to_me_uses_where_the_robot_is(caller, robot, memory_path):
    make_memory(memory_path)
    assert caller.ask("Where is the red ball nearest to me?").position.pose.position.x == pytest.approx(61.0)
    robot.until(lambda: robot.poses.get_subscription_count() > 0, "query_node to subscribe to pose")
    robot.localise(200.0, 2.0)
    robot.until(
        lambda: caller.ask("Where is the red ball nearest to me?").position.pose.position.x == pytest.approx(1.0),
        "the pose to arrive",
    )


def test_an_asker_in_another_frame_is_refused(caller, memory_path):
    make_memory(memory_path)
    request = Ask.Request(question="Where is the red ball nearest to me?")
    request.asker.header.frame_id = "odom"
    reply = caller.call(Ask, "ask", request)
    assert reply.status == Ask.Response.INVALID
    assert reply.message == "asker is in frame 'odom'; give it in 'map', or leave it empty"


def test_search_by_label_returns_the_things_of_that_name(caller, memory_path):
    ids = make_memory(memory_path)
    reply = caller.call(SearchByLabel, "search_by_label", SearchByLabel.Request(label="red ball"))
    assert reply.status == SearchByLabel.Response.OK
    assert {frame.keyframe_id for frame in reply.keyframes[:2]} == {ids[0], ids[3]}
    assert [thing.label for thing in reply.objects[:2]] == ["red ball", "red ball"]
    assert len({thing.entity_id for thing in reply.objects}) == len(reply.objects)
    empty = caller.call(SearchByLabel, "search_by_label", SearchByLabel.Request(label=""))
    assert empty.status == SearchByLabel.Response.INVALID
    nothing = caller.call(SearchByLabel, "search_by_label", SearchByLabel.Request(label="elephant"))
    assert nothing.status == SearchByLabel.Response.NOT_FOUND


def test_search_by_position_returns_what_is_near_with_distances(caller, memory_path):
    ids = make_memory(memory_path)
    request = SearchByPosition.Request(radius_m=21.0)
    request.position.header.frame_id = "map"
    request.position.point.x = 20.5
    reply = caller.call(SearchByPosition, "search_by_position", request)
    assert reply.keyframes[0].keyframe_id == ids[1]
    assert list(reply.keyframe_distances_m) == pytest.approx([0.5, 1.5, 2.5, 3.5, 4.5])
    assert [thing.label for thing in reply.objects] == ["green ball", "red ball", "blue ball"]
    assert list(reply.object_distances_m) == pytest.approx([0.5, 19.5, 20.5])
    request.radius_m = float("nan")
    assert caller.call(SearchByPosition, "search_by_position", request).status == SearchByPosition.Response.INVALID


def test_search_by_position_without_a_frame_needs_the_robots_pose(caller, memory_path):
    make_memory(memory_path)
    reply = caller.call(SearchByPosition, "search_by_position", SearchByPosition.Request())
    assert reply.status == SearchByPosition.Response.INVALID
    assert "the robot's own place, and that is not known yet" in reply.message


def test_search_by_time_returns_the_keyframes_around_it(caller, memory_path):
    ids = make_memory(memory_path)
    request = SearchByTime.Request(stamp=time_of(119 * S), tolerance_s=3.0)
    reply = caller.call(SearchByTime, "search_by_time", request)
    assert [ns_of(frame.stamp) // S for frame in reply.keyframes] == [120, 121, 116, 122]
    assert reply.keyframes[0].keyframe_id == ids[2]
    assert [thing.label for thing in reply.objects] == ["blue ball"]


def test_get_object_returns_everything_about_one_thing(caller, memory_path):
    ids = make_memory(memory_path)
    green = caller.ask("Where is the green ball?").objects[0]
    reply = caller.call(GetObject, "get_object", GetObject.Request(entity_id=green.entity_id))
    assert reply.status == GetObject.Response.OK, reply.message
    assert reply.object.label == "green ball"
    assert [frame.keyframe_id for frame in reply.sightings] == [ids[1]]
    assert list(reply.sightings[0].box_px) == [16.0, 12.0, 48.0, 36.0]
    unknown = caller.call(GetObject, "get_object", GetObject.Request(entity_id="ball_999"))
    assert unknown.status == GetObject.Response.NOT_FOUND
    view = caller.call(GetObject, "get_object", GetObject.Request(entity_id=green.entity_id, view="nothing"))
    assert view.status == GetObject.Response.NOT_FOUND
    assert "view 'nothing': not in this memory; it has hybrid" in view.message


def test_export_graph_returns_or_writes_the_graph_beside_the_memory(caller, memory_path):
    make_memory(memory_path)
    reply = caller.call(ExportGraph, "export_graph", ExportGraph.Request())
    graph = json.loads(reply.data)
    assert reply.entities == len(graph["nodes"])
    assert sum(node["kind"] == "object" for node in graph["nodes"]) == 4
    assert any(edge["predicate"] == "located in" for edge in graph["edges"])
    written = caller.call(ExportGraph, "export_graph", ExportGraph.Request(format="graphml", file_name="a.graphml"))
    assert written.path == str(memory_path.parent / "exports" / "a.graphml")
    assert "<graphml" in (memory_path.parent / "exports" / "a.graphml").read_text()
    for name in ("../a.json", "/tmp/a.json", "a/b.json", ".."):
        refused = caller.call(ExportGraph, "export_graph", ExportGraph.Request(file_name=name))
        assert refused.status == ExportGraph.Response.INVALID
        assert "needs a plain name" in refused.message


def test_a_question_that_takes_too_long_is_given_up_and_the_node_lives(caller, query, memory_path):
    make_memory(memory_path)
    assert caller.ask("Where is the red ball?").status == Ask.Response.OK
    query.set_parameters([Parameter("retrieval.timeout_s", value=0.3)])
    go_on = threading.Event()
    held = query._memory.submit(lambda memory: go_on.wait(timeout=150.0))
    slow = caller.ask("Where is the blue ball?")
    assert slow.status == Ask.Response.TIMEOUT
    assert slow.message == "no answer within 0.3 s; ask for less, or raise retrieval.timeout_s"
    go_on.set()
    held.result(timeout=30.0)
    query.set_parameters([Parameter("retrieval.timeout_s", value=30.0)])
    assert caller.ask("Where is the blue ball?").status == Ask.Response.OK


def test_questions_wait_for_each_other_and_hold_up_nothing_else(caller, query, memory_path):
    make_memory(memory_path)
    assert caller.ask("Where is the red ball?").status == Ask.Response.OK
    go_on = threading.Event()
    query._memory.submit(lambda memory: go_on.wait(timeout=150.0))
    replies = [caller.start(Ask, "ask", Ask.Request(question="Where is the blue ball?")) for _ in range(3)]
    other = caller.start(CancelNavigation, "cancel_navigation", CancelNavigation.Request())()
    assert other.status == CancelNavigation.Response.NOT_FOUND
    go_on.set()
    assert [reply().status for reply in replies] == [Ask.Response.OK] * 3


def test_a_node_that_is_not_active_says_so(robot, run_in_thread, memory_path):
    make_memory(memory_path)
    run_in_thread(
        QueryNode(
            parameter_overrides=overrides(
                memory__path=str(memory_path), association__text_encoder="none", autostart=False
            )
        )
    )
    caller = Caller(robot)
    reply = caller.start(Ask, "ask", Ask.Request(question="Where is the red ball?"))()
    assert reply.status == Ask.Response.INACTIVE
    assert reply.message == "query_node is not active; activate it, or set autostart"


def test_a_transition_that_the_state_does_not_have_is_refused_and_the_node_goes_on(caller, query, memory_path):
    make_memory(memory_path)
    caller.ask("Where is the red ball?")
    replies = [
        caller.start(ChangeState, "change_state", ChangeState.Request(transition=transition))()
        for transition in (
            Transition(id=Transition.TRANSITION_CLEANUP),
            Transition(label="jump"),
            Transition(id=Transition.TRANSITION_DEACTIVATE),
            Transition(id=Transition.TRANSITION_CLEANUP),
            Transition(id=Transition.TRANSITION_CLEANUP),
        )
    ]
    assert [reply.success for reply in replies] == [False, False, True, True, False]
