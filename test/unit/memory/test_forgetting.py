"""What is forgotten is gone: from the file, the images, the derived state and every reader."""

from __future__ import annotations

import pytest
from remembered_drives import SECOND, Frame, WordEncoder, frame, remember, told

from vlkng_ros.errors import InvalidInputError, NotInMemoryError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.association.text_merge import TextMergeAssociator
from vlkng_ros.types import Detection, EntityKind, Perception, RelationMention

SECRET = "zanzibar"


def files_that_say(folder, word: str) -> list[str]:
    return [f.name for f in folder.rglob("*") if f.is_file() and word.encode() in f.read_bytes().lower()]


def secret_drive(length: int = 60) -> list[Frame]:
    frames = []
    for i in range(length):
        secret = Detection(
            f"{SECRET} vase" if i % 2 else f"{SECRET.title()} Vases", (10.0, 10.0, 90.0, 90.0), 0.5,
            f"a {SECRET} vase on the {SECRET} table", {"origin": SECRET}, local_id=f"{SECRET}_1",
        )  # fmt: skip
        cup = Detection("cup", (200.0, 10.0, 290.0, 90.0), region_text=f"a cup beside the {SECRET} vase")
        caption = f"There is a {SECRET.title()} vase here. A cup stands on a table. Number {i}."
        relation = RelationMention(0, f"outshines the {SECRET}", 1)
        perception = Perception(caption, (secret, cup), (relation,), "test", "none")
        frames.append(Frame(i * SECOND, i / 10, 0, perception, jpeg=f"jpeg of a {SECRET}".encode()))
    return frames


@pytest.mark.parametrize("secret", ["lynx", "雪だるま"])
@pytest.mark.parametrize("way", ["seen", "only told of", "summed up"])
def test_what_captions_tell_of_goes_with_the_sentences_that_told_it(open_writer, open_reader, path, secret, way):
    sentence = f"A {secret} sits on a chair." if secret.isascii() else f"椅子の上に{secret}がある。"
    done = {"subject": secret, "location": "chair"}
    detections = (
        Detection("chair", attributes={"under": secret, "color": "red"}),
        Detection("cup"),
        Detection(secret) if way == "seen" else Detection("table"),
        Detection("sitting", None, None, sentence, done, EntityKind.EVENT, told=True),
        Detection(f"holding {secret}", None, None, sentence, {"subject": "person"}, EntityKind.EVENT, told=True),
        Detection("person", None, None, sentence, kind=EntityKind.PERSON, told=True),
    )
    relations = (RelationMention(0, f"under the {secret} and", 1), RelationMention(1, "on", 0))
    said = Perception(f"{sentence} A cup stands on a table.", detections, relations)
    writer = open_writer(encoder=WordEncoder(), associators=(ProximityAssociator(), TextMergeAssociator()))
    remember(writer, [Frame(i * SECOND, 0, 0, said) for i in range(40)])
    other = Detection("sitting", None, None, "", {"location": "sofa"}, EntityKind.EVENT, told=True)
    remember(writer, [Frame(50 * SECOND, 0, 0, Perception("", (other,)))])
    if way == "summed up":
        assert writer.summarise(keep=0) == 41
    reader = open_reader()
    assert reader.entity("text_merge", "chair_1").attributes["under"] == secret
    assert files_that_say(path.parent, secret) != []
    forgotten = writer.forget(label=secret)
    assert way == "summed up" or forgotten.observations == (120 if way == "seen" else 80)
    reader.refresh()
    assert files_that_say(path.parent, secret) == []
    left = {e.entity_id for e in reader.entities("text_merge")}
    assert left == {"chair_1", "cup_1", "person_1", "sitting_1"} | ({"table_1"} if way != "seen" else set())
    assert [r.predicate for r in reader.relations("proximity", "chair_1")] == ["on"]
    assert reader.entity("text_merge", "sitting_1").attributes == {"location": "sofa"}
    assert reader.entity("text_merge", "sitting_1").observation_count == 1


def test_what_captions_tell_of_other_things_stays(open_writer, open_reader):
    said = {"subject": "person", "object": "cup"}
    event = Detection("holding cup", None, None, "A person holds a cup.", said, EntityKind.EVENT, told=True)
    writer = open_writer()
    remember(writer, [Frame(0, 0, 0, Perception("A person holds a cup.", (event, Detection("object"))))])
    assert writer.forget(label="object").observations == 1
    (left,) = open_reader().observations(1, told=True)
    assert (left.detection.attributes, left.detection.region_text) == (said, "A person holds a cup.")


@pytest.mark.parametrize("by", ["label", "entity", "time", "area"])
def test_no_byte_of_it_stays_on_the_disk(open_writer, open_reader, path, by):
    writer = open_writer(encoder=WordEncoder())
    remember(writer, secret_drive())
    remember(writer, [frame(i, 50, "cup", "chair", caption="A chair.") for i in range(100, 140)])
    reader = open_reader()
    assert set(files_that_say(path.parent, SECRET)) > {"memory.db-wal"}
    if by == "label":
        summary = writer.forget(label=f"{SECRET} VASE")
        # A label says nothing of other words that were used for the thing.
        assert summary.observations == 60
    elif by == "entity":
        summary = writer.forget(entity_ids=[f"{SECRET}_vase_1"])
    elif by == "time":
        summary = writer.forget(until_ns=59 * SECOND)
    else:
        summary = writer.forget(area=(-1, -1, 7, 1))
    assert summary.images == 60
    changes = reader.refresh()
    assert f"{SECRET}_vase_1" in changes.forgotten_entities["proximity"]
    left = files_that_say(path.parent, SECRET)
    assert left == []
    assert reader.image(1) is None
    texts = " ".join(t.text for t in reader.texts())
    assert SECRET not in texts.lower()
    assert [e.entity_id for e in reader.entities("proximity")][-1] == "chair_1"
    if by in ("label", "entity"):
        assert reader.keyframe(3).caption == "A cup stands on a table. Number 2."
        assert [o.detection.label for o in reader.observations(3)] == ["cup"]
        assert reader.observations(3)[0].detection.region_text == ""
        assert reader.relations("proximity", "cup_1") == []
    else:
        assert changes.forgotten_keyframe_ids == tuple(range(1, 61))
        assert len(reader.frames()) == 40


def test_a_reader_in_the_middle_of_something_delays_the_log_and_no_more(
    open_writer, open_reader, path, monkeypatch, caplog
):
    monkeypatch.setattr("vlkng_ros.memory.writer.LOG_WAIT_MS", 0)
    writer = open_writer()
    remember(writer, secret_drive(5))
    with open_reader().snapshot() as held:
        writer.forget(label=f"{SECRET} vase")
        assert held.entity("proximity", f"{SECRET}_vase_1").observation_count == 5
        remember(writer, [frame(10, 0, "cup")])
        assert files_that_say(path.parent, SECRET) != []
    assert "a reader is busy" in caplog.text
    remember(writer, [frame(11, 0, "cup")])
    assert files_that_say(path.parent, SECRET) == []


def test_a_forgotten_id_is_never_given_again_even_after_a_restart(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(0, 0, "cup"), frame(1, 50, "cup")])
    writer.forget(label="cup")
    writer.close()
    with open_writer() as again:
        remember(again, [frame(2, 0, "cup")])
    assert [e.entity_id for e in open_reader().entities("proximity")] == ["cup_3"]
    assert open_reader().frames().ids.tolist() == [1, 2, 3]


def test_keyframe_and_observation_ids_are_never_given_again(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(0, 0, "cup"), frame(1, 0, "cup")])
    writer.forget(since_ns=SECOND)
    writer.close()
    with open_writer() as again:
        assert remember(again, [frame(2, 0, "cup")]) == [3]
    assert open_reader().observations(3)[0].observation_id == 3


def test_what_is_left_is_as_if_it_had_never_been(path, open_writer, open_reader):
    frames = [frame(i, i / 4, "cup", *["chair"] * (i % 3)) for i in range(80)]
    writer = open_writer()
    remember(writer, frames)
    writer.forget(since_ns=20 * SECOND, until_ns=50 * SECOND)
    left = told(open_reader(), "proximity")
    past = told(open_reader(), "proximity", 60 * SECOND)
    assert left["cup_1"].entity[7] == 49
    assert past["cup_1"].entity[7] == 30
    assert [s[0] // SECOND for s in left["cup_1"].sightings] == [*range(20), *range(51, 80)]
    assert left["cup_1"].entity[3] == [("cup", 49)]


def test_an_entity_that_keeps_observations_keeps_its_id_and_loses_its_label(open_writer, open_reader):
    writer = open_writer(encoder=WordEncoder())
    remember(writer, [frame(0, 0, "cup"), frame(1, 0, "mug"), frame(2, 0, "mug")])
    reader = open_reader()
    cup = next(t.text_id for t in reader.texts() if t.text == "cup")
    assert reader.labelled("proximity", [cup]) == ["cup_1"]
    summary = writer.forget(label="cup")
    assert (summary.observations, dict(summary.entities)) == (1, {})
    assert reader.refresh().entities == {"proximity": ("cup_1",)}
    entity = reader.entity("proximity", "cup_1")
    assert (entity.labels, entity.label, entity.first_seen_ns) == ({"mug": 2}, "mug", SECOND)
    assert reader.labelled("proximity", [cup]) == []


def test_label_time_and_area_are_combined(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(i, 10 * (i % 2), "cup", "chair") for i in range(10)])
    summary = writer.forget(label="cup", since_ns=2 * SECOND, until_ns=7 * SECOND, area=(-1, -1, 1, 1))
    assert (summary.observations, summary.keyframes) == (3, 0)
    reader = open_reader()
    cups = [len(reader.observations(n)) for n in range(1, 11)]
    assert cups == [2, 2, 1, 2, 1, 2, 1, 2, 2, 2]


def test_relations_lose_the_keyframes_that_are_gone(open_writer, open_reader):
    writer = open_writer()
    for second in range(3):
        found = (Detection("cup"), Detection("table"))
        remember(writer, [Frame(second * SECOND, 0, 0, Perception("", found, (RelationMention(0, "on", 1),)))])
    writer.forget(until_ns=0)
    (relation,) = open_reader().relations("proximity", "cup_1")
    assert (relation.keyframe_ids, relation.stamps_ns) == ((2, 3), (SECOND, 2 * SECOND))
    writer.forget(entity_ids=["table_1"])
    assert open_reader().relations("proximity", "cup_1") == []


def test_other_maps_are_left_alone_when_an_area_is_forgotten(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(0, 0, "cup")])
    writer.start_session(robot="robot", map_id="garden", frame_id="map")
    remember(writer, [frame(1, 0, "cup")])
    assert writer.forget(area=(-1, -1, 1, 1)).keyframes == 1
    assert open_reader().frames().ids.tolist() == [1]
    assert writer.forget(area=(-1, -1, 1, 1), map_id="house").keyframes == 1
    with pytest.raises(NotInMemoryError, match="'attic'"):
        writer.forget(area=(-1, -1, 1, 1), map_id="attic")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, InvalidInputError, "name entities, a label, a time or an area"),
        ({"label": "  "}, InvalidInputError, "label is empty"),
        ({"since_ns": 2, "until_ns": 1}, InvalidInputError, "is empty"),
        ({"area": (1.0, 0.0, 0.0, 1.0)}, InvalidInputError, "x_min"),
        ({"area": (float("nan"), 0.0, 0.0, 1.0)}, InvalidInputError, "x_min"),
        ({"entity_ids": ["dog_1"]}, NotInMemoryError, "'dog_1' is not in view 'proximity'"),
        ({"view": "stoa", "entity_ids": ["cup_1"]}, NotInMemoryError, "view 'stoa'"),
    ],
)
def test_what_cannot_be_forgotten_is_said_and_nothing_happens(open_writer, arguments, error, message):
    writer = open_writer()
    remember(writer, [frame(0, 0, "cup")])
    before = writer.revision
    with pytest.raises(error, match=message):
        writer.forget(**arguments)
    assert writer.revision == before


def test_forgetting_what_is_not_there_says_so(open_writer):
    writer = open_writer()
    remember(writer, [frame(0, 0, "cup")])
    assert not writer.forget(label="unicorn")


def test_the_writer_goes_on_after_forgetting(open_writer, open_reader, path):
    writer = open_writer(encoder=WordEncoder())
    remember(writer, secret_drive(20))
    writer.forget(label=f"{SECRET} vase")
    remember(writer, [frame(100, 0.5, "cup", f"{SECRET} vase")])
    with MemoryReader.open(path) as reader:
        counts = {e.entity_id: e.observation_count for e in reader.entities("proximity")}
        assert counts == {"cup_1": 21, f"{SECRET}_vase_2": 1}
