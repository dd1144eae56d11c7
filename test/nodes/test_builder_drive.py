import numpy as np
import pytest
from colour_builder import ColourBuilder
from fake_robot import picture
from running_nodes import overrides
from sensor_msgs.msg import CompressedImage
from std_msgs.msg import String
from viewer import names, shown
from visualization_msgs.msg import MarkerArray

from vlkng_ros.memory import MemoryReader
from vlkng_ros.nodes.subscriptions import keep_last
from vlkng_ros.types import PerceptionState

S = 1_000_000_000


@pytest.fixture
def build(run_in_thread, memory_path, robot):
    def start(**parameters):
        parameters = {"memory__path": str(memory_path), "association__text_encoder": "none", **parameters}
        return run_in_thread(ColourBuilder(parameter_overrides=overrides(**parameters)))

    return start


def described(memory_path):
    with MemoryReader.open(memory_path) as memory:
        table = memory.frames()
        return [k.caption for k in memory.keyframes(table.ids.tolist()) if k.perception is PerceptionState.DONE]


def entity_labels(memory_path):
    with MemoryReader.open(memory_path) as memory:
        return {entity.label for entity in memory.entities("hybrid")} if "hybrid" in memory.views() else set()


def test_a_drive_becomes_keyframes_with_pose_camera_and_picture(robot, build, memory_path):
    build()
    robot.until_heard_by_builder()
    robot.camera_info()
    robot.drive(4, colours=("red", "green"))
    with MemoryReader.open(memory_path) as memory:
        keyframes = memory.keyframes([stored.keyframe_id for stored in robot.stored])
        assert [keyframe.stamp_ns for keyframe in keyframes] == [(100 + i) * S for i in range(4)]
        for i, keyframe in enumerate(keyframes):
            assert keyframe.base_pose.position_m == pytest.approx((i, 0, 0), abs=1e-6)
            assert keyframe.camera_pose.position_m == pytest.approx((i, 0, 0.5), abs=1e-6)
            np.testing.assert_allclose(keyframe.camera_pose.rotation()[:, 2], [1, 0, 0], atol=1e-6)
            assert keyframe.image_size_px == (64, 48)
            assert memory.image(keyframe.keyframe_id)[:2] == b"\xff\xd8"
        assert keyframes[-1].intrinsics.fx == 50.0


def test_keyframes_are_described_by_the_model_in_its_own_process_and_become_entities(robot, build, memory_path):
    build()
    robot.until_heard_by_builder()
    robot.drive(3, colours=("red", "green", "blue"))
    robot.until(lambda: len(described(memory_path)) == 3, "the descriptions")
    assert described(memory_path) == ["a red ball", "a green ball", "a blue ball"]
    # What is the same thing is decided after the description is on disk, in an operation of its own.
    balls = {"red ball", "green ball", "blue ball"}
    robot.until(lambda: entity_labels(memory_path) == balls, "the entities")


def test_an_image_is_placed_by_odometry_between_sparse_poses(robot, build, memory_path):
    build()
    robot.until_heard_by_builder()
    robot.localise(100.0, 0.0)
    for i in range(11):
        robot.roll(100.0 + i / 10, i / 10)
    robot.see(100.75)
    robot.until(lambda: robot.stored, "the keyframe")
    with MemoryReader.open(memory_path) as memory:
        assert memory.keyframe(robot.stored[0].keyframe_id).base_pose.position_m[0] == pytest.approx(0.75, abs=1e-6)


def test_compressed_images_are_taken_where_only_they_are_published(robot, build, memory_path):
    robot.destroy_publisher(robot.images)
    publisher = robot.create_publisher(CompressedImage, "image/compressed", keep_last(5, reliable=False))
    build()
    robot.until(lambda: publisher.get_subscription_count() > 0, "the builder to find the compressed topic")
    robot.until(lambda: robot.poses.get_subscription_count() > 0, "the builder to subscribe to pose")
    robot.localise(100.0, 0.0)
    robot.roll(100.0, 0.0)
    robot.roll(100.2, 0.0)
    publisher.publish(robot.compressed(100.1, picture("green")))
    robot.until(lambda: robot.stored, "the keyframe")
    with MemoryReader.open(memory_path) as memory:
        assert memory.keyframe(robot.stored[0].keyframe_id).image_size_px == (64, 48)


def test_the_present_map_is_announced_and_unnamed_ones_differ_from_start_to_start(robot, build, memory_path):
    heard = []
    robot.hear(String, "current_map", heard, keep_last(1, reliable=True, latched=True))
    node = build()
    robot.until_heard_by_builder()
    robot.drive(1)
    robot.until(lambda: heard, "the map's name")
    with MemoryReader.open(memory_path) as memory:
        assert memory.keyframe(robot.stored[0].keyframe_id).map_id == heard[0].data
    node.trigger_deactivate()
    node.trigger_cleanup()
    node.trigger_configure()
    node.trigger_activate()
    robot.until(lambda: len(heard) == 2, "the next map's name")
    assert heard[1].data != heard[0].data


def test_a_node_goes_through_its_lifecycle_and_on_in_the_same_memory(robot, build, memory_path):
    node = build(autostart=False, robot__map_id="office")
    assert not node.is_active
    node.trigger_configure()
    node.trigger_activate()
    robot.until_heard_by_builder()
    robot.drive(2)
    node.trigger_deactivate()
    assert robot.images.get_subscription_count() == 0 or not node.is_active
    node.trigger_activate()
    robot.until_heard_by_builder()
    robot.drive(2, start_s=200.0, start_m=10.0)
    node.trigger_deactivate()
    node.trigger_cleanup()
    with MemoryReader.open(memory_path) as memory:
        assert len(memory.frames()) == 4
        assert {session.map_id for session in memory.stats().sessions} == {"office"}


def test_objects_are_shown_in_rviz_with_stable_ids_and_taken_away_when_forgotten(robot, build, memory_path):
    markers = []
    robot.hear(MarkerArray, "builder_node/markers", markers, keep_last(100, reliable=True, latched=True))
    node = build(markers__period_s=0.1)
    robot.until_heard_by_builder()
    robot.drive(2, colours=("red", "green"))
    robot.until(lambda: len(names(markers)) == 2, "two names")
    before = names(markers)
    assert {text.split(" near")[0] for text in before.values()} == {"red ball", "green ball"}
    path = shown(markers)[("keyframes", 0)]
    assert [point.x for point in path.points] == pytest.approx([0.0, 1.0])
    node._writer.forget(label="red ball")
    robot.drive(1, start_s=110.0, start_m=20.0, colours=("green",))
    robot.until(lambda: not any("red ball" in text for text in names(markers).values()), "the red ball to go")
    kept = {key: text for key, text in before.items() if text.startswith("green")}
    assert kept.items() <= names(markers).items()
