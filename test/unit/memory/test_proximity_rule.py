"""EmbodiedLGR's rule: k seen, h known nearby; refresh the smaller number, create the rest, delete nothing."""

from __future__ import annotations

import pytest
from remembered_drives import SECOND, Frame, WordEncoder, frame, remember

from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.types import Detection, EntityKind, Perception


def ids_of(reader) -> list[str]:
    return [e.entity_id for e in reader.entities("proximity")]


def counts_of(reader) -> dict[str, int]:
    return {e.entity_id: e.observation_count for e in reader.entities("proximity")}


@pytest.mark.parametrize(
    ("known", "seen", "counts"),
    [
        (0, 2, [1, 1]),
        (1, 3, [2, 1, 1]),
        (2, 2, [2, 2]),
        (3, 1, [2, 1, 1]),
        (3, 0, [1, 1, 1]),
    ],
)
def test_as_many_are_refreshed_as_are_both_seen_and_known_and_the_rest_is_created(
    open_writer, open_reader, known, seen, counts
):
    remember(open_writer(), [frame(0, 0, *["chair"] * known), frame(1, 1, *["chair"] * seen)])
    assert counts_of(open_reader()) == {f"chair_{i + 1}": count for i, count in enumerate(counts)}


@pytest.mark.parametrize(("distance", "same"), [(4.99, True), (5.0, True), (5.01, False)])
def test_the_robots_places_decide_up_to_delta_p(open_writer, open_reader, distance, same):
    remember(open_writer(), [frame(0, 0, "cup"), frame(1, distance, "cup")])
    assert ids_of(open_reader()) == (["cup_1"] if same else ["cup_1", "cup_2"])


def test_it_is_the_place_of_the_last_sighting_that_counts(open_writer, open_reader):
    remember(open_writer(), [frame(i, 4.0 * i, "cup") for i in range(6)])
    assert counts_of(open_reader()) == {"cup_1": 6}
    assert open_reader().entity("proximity", "cup_1").position.mean_m == (20.0, 0.0, 0.0)


@pytest.mark.parametrize(("other", "same"), [("mug", True), ("Cups", True), ("chair", False)])
def test_labels_that_mean_the_same_merge_and_others_do_not(open_writer, open_reader, other, same):
    remember(open_writer(encoder=WordEncoder()), [frame(0, 0, "cup"), frame(1, 0, other)])
    assert (len(ids_of(open_reader())) == 1) == same


def test_without_an_encoder_equal_labels_merge_case_and_plural_apart(open_writer, open_reader):
    remember(open_writer(), [frame(0, 0, "coffee cup"), frame(1, 0, "Coffee Cups"), frame(2, 0, "mug")])
    assert counts_of(open_reader()) == {"coffee_cup_1": 2, "mug_1": 1}
    assert open_reader().entity("proximity", "coffee_cup_1").labels == {"coffee cup": 1, "Coffee Cups": 1}


def test_the_cosine_must_be_above_delta_e(open_writer, open_reader):
    encoder = WordEncoder()
    one, other = encoder.encode(["cup", "mug"])
    cosine = float(one @ other)
    for threshold, count in ((cosine - 0.01, 1), (cosine + 0.01, 2)):
        writer = open_writer(associators=(ProximityAssociator(cosine=threshold),), encoder=encoder)
        remember(writer, [frame(0, 100 * count, "cup"), frame(1, 100 * count, "mug")])
        here = open_reader().near("proximity", (100.0 * count, 0, 0), 1)
        assert len(here) == count
        writer.close()


def test_the_nearest_is_refreshed_first_and_the_older_of_two_as_near(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(0, 0, "chair"), frame(1, 6, "chair"), frame(2, 4, "chair")])
    assert counts_of(open_reader()) == {"chair_1": 1, "chair_2": 2}
    remember(writer, [frame(3, 10, "cup", "cup"), frame(4, 10, "cup")])
    assert counts_of(open_reader()) == {"chair_1": 1, "chair_2": 2, "cup_1": 2, "cup_2": 1}


def test_a_cup_and_a_mug_in_one_frame_stay_two_whatever_their_order(open_writer, open_reader):
    writer = open_writer(encoder=WordEncoder())
    remember(writer, [frame(0, 0, "cup", "mug"), frame(1, 0, "mug", "cup"), frame(2, 0, "cup", "mug")])
    labels = {e.entity_id: dict(e.labels) for e in open_reader().entities("proximity")}
    assert labels == {"cup_1": {"cup": 3}, "mug_1": {"mug": 3}}


def test_a_person_is_not_a_thing_of_that_name(open_writer, open_reader):
    writer = open_writer()
    for second, kind in enumerate((EntityKind.OBJECT, EntityKind.PERSON)):
        remember(writer, [Frame(second * SECOND, 0, 0, Perception("", (Detection("statue", kind=kind),)))])
    assert [e.kind for e in open_reader().entities("proximity")] == [EntityKind.OBJECT, EntityKind.PERSON]


def test_maps_are_never_mixed(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(0, 0, "cup")])
    writer.start_session(robot="robot", map_id="garden", frame_id="map")
    remember(writer, [frame(1, 0, "cup")])
    writer.start_session(robot="other robot", map_id="house", frame_id="map")
    remember(writer, [frame(2, 0, "cup")])
    reader = open_reader()
    maps = {e.entity_id: (e.position.map_id, e.observation_count) for e in reader.entities("proximity")}
    assert maps == {"cup_1": ("house", 2), "cup_2": ("garden", 1)}
    assert [e.entity_id for e in reader.near("proximity", (0, 0, 0), 1)] == ["cup_1"]
    assert [e.entity_id for e in reader.near("proximity", (0, 0, 0), 1, map_id="garden")] == ["cup_2"]


def test_the_same_drive_gives_the_same_ids_with_or_without_a_restart(path, open_writer, open_reader):
    frames = [frame(i, i % 7, *["cup", "mug", "chair", "chair"][: i % 5]) for i in range(40)]
    writer = open_writer(encoder=WordEncoder())
    remember(writer, frames)
    whole = [sorted(open_reader().entities_in("proximity", n).values()) for n in range(1, 41)]
    writer.close()
    path.rename(path.with_name("first.db"))
    for item in frames:
        with open_writer(encoder=WordEncoder()) as once:
            remember(once, [item])
    assert [sorted(open_reader().entities_in("proximity", n).values()) for n in range(1, 41)] == whole


class Twice:
    """Gives every observation the same entity."""

    view = "proximity"

    def assign(self, keyframe, observations, view):
        known = next(iter(view.near(keyframe.base_pose.position_m, 5.0, keyframe.map_id)), None)
        return [known] * len(observations)


def test_an_associator_that_gives_one_entity_twice_in_a_keyframe_is_not_believed(open_writer, open_reader, caplog):
    remember(open_writer(associators=(Twice(),)), [frame(0, 0, "cup"), frame(1, 0, "cup", "cup")])
    assert counts_of(open_reader()) == {"cup_1": 2, "cup_2": 1}
    assert "chose cup_1 twice in a keyframe" in caplog.text


class Looking:
    """Asks the view, decides nothing."""

    view = "looking"

    def __init__(self) -> None:
        self.near: list[list[str]] = []
        self.alike: list[list[str]] = []

    def assign(self, keyframe, observations, view):
        self.near.append([e.entity_id for e in view.near((0.0, 0.0, 0.0), 2.0, "house")])
        self.alike.append([e.entity_id for e in view.alike("cup", 0.75)])
        return [None] * len(observations)


def test_a_view_can_be_asked_by_place_and_by_label_wherever_it_is(open_writer):
    looking = Looking()
    writer = open_writer(associators=(looking,), encoder=WordEncoder())
    remember(writer, [frame(0, 0, "cup"), frame(1, 50, "mug"), frame(2, 1, "chair"), frame(3, 0)])
    assert looking.near[-1] == ["cup_1", "chair_1"]
    assert looking.alike[-1] == ["cup_1", "mug_1"]
    writer.close()
    again = Looking()
    reopened = open_writer(associators=(again,), encoder=WordEncoder(), session=False)
    reopened.start_session(robot="robot", map_id="house", frame_id="map")
    remember(reopened, [frame(4, 0)])
    assert (again.near[-1], again.alike[-1]) == (["cup_1", "chair_1"], ["cup_1", "mug_1"])
