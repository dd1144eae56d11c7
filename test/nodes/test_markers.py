"""What RViz is shown of a memory: bounded, the nearest things first, with covariance and relations, and taken away."""

from types import SimpleNamespace

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from remembered import open_writer
from viewer import shown
from visualization_msgs.msg import Marker

from vlkng_ros.config import BuilderConfig, MarkersConfig
from vlkng_ros.nodes.object_markers import ObjectMarkers
from vlkng_ros.types import Capture, Detection, Intrinsics, Perception, Pose, RelationMention

COLUMNS = 12
K = Intrinsics(50, 50, 32, 24, 64, 48)


class Watched:
    """A node with a viewer, as far as the markers need one."""

    def __init__(self, path, most):
        self.config = BuilderConfig(markers=MarkersConfig(period_s=0.1, max_entities=most))
        self.sent = []
        self.viewers = 1
        now = SimpleNamespace(to_msg=Time)
        self.get_clock = lambda: SimpleNamespace(now=lambda: now)
        self.markers = ObjectMarkers(self, path, self.config)

    def create_publisher(self, *_):
        return SimpleNamespace(publish=self.sent.append, get_subscription_count=lambda: self.viewers)

    def destroy_publisher(self, publisher):
        pass

    def show(self, robot_at):
        self.markers.robot_at = robot_at
        self.markers.draw()
        return list(shown(self.sent).values())


@pytest.fixture
def cups(memory_path):
    """A row of cups on tables 20 m apart, each seen from two places; and the keyframe from which the last was seen."""
    with open_writer(memory_path) as writer:
        writer.start_session(robot="robot", map_id="office", frame_id="map")
        for i in range(2 * COLUMNS):
            base = Pose.planar("map", 20.0 * (i // 2), 0.5 * (i % 2), 0.0)
            camera = base.compose(Pose("base", (0.0, 0.0, 0.5), (-0.5, 0.5, -0.5, 0.5)))
            frame = writer.add_keyframe(Capture(i * 10**9, base, camera, "camera", K, (64, 48)), None)
            # 3 m ahead; the second time half a metre further right.
            left = 28.0 + 8.0 * (i % 2)
            found = (
                Detection("cup", (left, 20.0, left + 8, 28.0), 0.9),
                Detection("table", (20.0, 30.0, 60.0, 47.0), 0.9),
            )
            writer.add_perception(frame.keyframe_id, Perception("", found, (RelationMention(0, "on", 1),), "test"))
            writer.associate(frame.keyframe_id)
        yield writer, frame


def by_name(markers, ns):
    return [marker for marker in markers if marker.ns == ns]


def test_the_nearest_things_are_shown_and_no_more_than_asked_for(cups, memory_path):
    _, last = cups
    markers = Watched(memory_path, most=5).show(last)
    assert len(by_name(markers, "objects")) == len(by_name(markers, "names")) == 5
    assert min(marker.pose.position.x for marker in by_name(markers, "objects")) > 20.0 * (COLUMNS - 4)
    assert len(markers) <= 3 * 5 + 5 + 1


def test_a_thing_has_its_label_its_uncertainty_and_its_relations(cups, memory_path):
    _, last = cups
    markers = Watched(memory_path, most=2).show(last)
    assert {marker.text.split("\\n")[0].split(" ")[0] for marker in by_name(markers, "names")} == {"cup", "table"}
    for marker in by_name(markers, "covariance"):
        axes = (marker.scale.x, marker.scale.y, marker.scale.z)
        assert all(0.01 <= axis <= 6.0 for axis in axes)
        turn = marker.pose.orientation
        assert np.linalg.norm([turn.x, turn.y, turn.z, turn.w]) == pytest.approx(1.0)
    assert by_name(markers, "covariance")
    (relation,) = by_name(markers, "relations")
    assert relation.type == Marker.ARROW
    assert len(relation.points) == 2
    (path,) = by_name(markers, "keyframes")
    assert len(path.points) == 2 * COLUMNS


def test_what_is_no_longer_near_or_was_forgotten_is_deleted_and_what_stays_keeps_its_id(cups, memory_path):
    writer, last = cups
    watched = Watched(memory_path, most=4)
    before = {m.text: m.id for m in by_name(watched.show(last), "names")}
    writer.forget(label="table")
    markers = watched.show(last)
    after = {m.text: m.id for m in by_name(markers, "names")}
    assert not any("table" in text for text in after)
    kept = before.keys() & after.keys()
    assert kept
    assert all(before[text] == after[text] for text in kept)
    gone = {(m.ns, m.id) for m in watched.sent[-1].markers if m.action == Marker.DELETE}
    assert {("names", number) for text, number in before.items() if text not in after} <= gone
    assert any(ns == "relations" for ns, _ in gone)
    assert by_name(markers, "relations") == []
    assert len(after) == 4


def test_nothing_is_read_while_nobody_looks_and_nothing_sent_while_nothing_changes(cups, memory_path):
    _, last = cups
    watched = Watched(memory_path, most=4)
    watched.viewers = 0
    assert watched.show(last) == []
    watched.viewers = 1
    watched.show(last)
    watched.show(last)
    assert len(watched.sent) == 1
    watched.viewers = 2
    everything = watched.show(last)
    # Who comes later has not seen the beginning.
    assert watched.sent[1].markers[0].action == Marker.DELETEALL
    assert [(m.ns, m.id) for m in watched.sent[1].markers[1:]] == [(m.ns, m.id) for m in watched.sent[0].markers[1:]]
    assert everything == watched.sent[1].markers[1:]
    watched.markers.close()
    assert watched.sent[-1].markers[0].action == Marker.DELETEALL


def test_of_a_thing_seen_again_only_its_own_markers_are_sent(cups, memory_path):
    writer, last = cups
    watched = Watched(memory_path, most=100)
    before = watched.show(last)
    # Where the last cup and its table were seen twice, they are seen once more.
    again = Capture(10**12, last.base_pose, last.camera_pose, "camera", K, (64, 48))
    frame = writer.add_keyframe(again, None)
    cup = Detection("cup", (36.0, 20.0, 44.0, 28.0), 0.9)
    writer.add_perception(frame.keyframe_id, Perception("", (cup,), (), "test"))
    (seen,) = writer.associate(frame.keyframe_id)
    assert seen.observation_count == 3
    after = watched.show(frame)
    names = {m.text: m.id for m in by_name(after, "names")}
    (number,) = [names[text] for text in names if text.endswith(f"{seen.entity_id}, seen 3x")]
    sent = {(m.ns, m.id) for m in watched.sent[-1].markers}
    assert {ns for ns, _ in sent} == {"objects", "names", "covariance", "keyframes", "relations"}
    assert {m_id for ns, m_id in sent if ns in ("objects", "names", "covariance")} == {number}
    assert len(sent) <= 6 < len(before) == len(after)


def test_of_many_things_the_nearest_are_sent_first(cups, memory_path, monkeypatch):
    _, last = cups
    whole = {m.text for m in by_name(Watched(memory_path, most=100).show(last), "names")}
    monkeypatch.setattr("vlkng_ros.nodes.object_markers.THINGS_AT_ONCE", 5)
    watched = Watched(memory_path, most=100)
    nearest = by_name(watched.show(last), "objects")
    assert len(nearest) == 5
    assert min(marker.pose.position.x for marker in nearest) > 20.0 * (COLUMNS - 4)
    for _ in range(len(whole)):
        shown_now = watched.show(last)
    assert {m.text for m in by_name(shown_now, "names")} == whole
    assert len(by_name(shown_now, "relations")) == COLUMNS
    # Nothing is left to send.
    assert len(watched.sent) == -(-len(whole) // 5)
