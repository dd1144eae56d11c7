"""Readers see what is committed, whole operations only, and hold nothing between calls."""

from __future__ import annotations

import threading

import networkx
import pytest
import writing_process
from killed_writers import PROCESSES, check_whole
from remembered_drives import SECOND, Frame, WordEncoder, frame, remember

from vlkng_ros.errors import NotInMemoryError
from vlkng_ros.memory import Changes, MemoryReader
from vlkng_ros.memory.rows import ROLES
from vlkng_ros.types import Detection, EntityState, Perception, Pose, RelationMention


def test_changes_name_what_is_new_since_the_last_look(open_writer, open_reader):
    writer = open_writer()
    reader = open_reader()
    assert reader.refresh() == Changes(reader.revision)
    assert not reader.refresh()
    keyframe = writer.add_keyframe(frame(0, 0).capture())
    assert reader.refresh() == Changes(writer.revision, (1,))
    writer.add_perception(keyframe.keyframe_id, Perception("", (Detection("cup"), Detection("chair"))))
    assert reader.refresh() == Changes(writer.revision, (1,))
    writer.associate(keyframe.keyframe_id)
    assert reader.refresh() == Changes(writer.revision, (), {"proximity": ("cup_1", "chair_1")})
    writer.forget(label="cup")
    assert reader.refresh() == Changes(writer.revision, (1,), {}, (), {"proximity": ("cup_1",)}, (1,))


def test_what_came_and_went_between_two_looks_is_in_neither_list(open_writer, open_reader):
    writer = open_writer()
    reader = open_reader()
    remember(writer, [frame(0, 0, "cup"), frame(5, 50, "chair")])
    writer.forget(until_ns=SECOND)
    changes = reader.refresh()
    assert changes.keyframe_ids == (2,)
    assert changes.entities == {"proximity": ("chair_1",)}
    assert (changes.forgotten_keyframe_ids, dict(changes.forgotten_entities)) == ((), {})


def test_tables_are_as_of_the_last_refresh_and_single_rows_are_current(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(0, 0, "cup")])
    reader = open_reader()
    remember(writer, [frame(1, 0, "cup")])
    assert len(reader.frames()) == 1
    assert reader.entity("proximity", "cup_1").observation_count == 2
    reader.refresh()
    assert reader.frames().stamps_ns.tolist() == [0, SECOND]


@pytest.mark.parametrize("look", ["stats", "graph", "snapshot"])
def test_looking_in_another_way_takes_nothing_from_the_next_report(open_writer, open_reader, look):
    def glance(reader) -> None:
        if look == "stats":
            reader.stats()
        elif look == "graph":
            reader.graph("proximity")
        else:
            with reader.snapshot() as held:
                assert len(held.frames()) > 0

    writer = open_writer()
    remember(writer, [frame(0, 0, "cup", "chair")])
    reader = open_reader()
    remember(writer, [frame(1, 0, "cup"), frame(2, 50, "dog")])
    glance(reader)
    writer.forget(label="dog")
    glance(reader)
    writer.forget(label="chair")
    glance(reader)
    assert reader.refresh() == Changes(
        writer.revision, (1, 2, 3), {"proximity": ("cup_1",)}, (), {"proximity": ("chair_1",)}, (2,)
    )
    assert not reader.refresh()
    assert list(reader.graph("proximity").nodes) == ["cup_1", "path/place_1", "path/place_3"]


def test_inside_a_snapshot_every_call_sees_the_same_state(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(0, 0, "cup")])
    reader = open_reader()
    remember(writer, [frame(1, 0, "cup")])
    with reader.snapshot() as held:
        assert len(held.frames()) == 2
        remember(writer, [frame(2, 0, "cup")])
        assert held.entity("proximity", "cup_1").observation_count == 2
        assert held.refresh().keyframe_ids == (2,)
        with pytest.raises(NotInMemoryError):
            held.keyframe(3)
    assert reader.entity("proximity", "cup_1").observation_count == 3


def test_no_transaction_is_held_between_calls_not_even_by_half_used_iterators(open_writer, open_reader):
    writer = open_writer()
    remember(writer, [frame(i, 0, "cup", f"thing {i}", caption=f"Number {i}.") for i in range(20)])
    reader = open_reader()
    iterators = [reader.texts(), reader.mentions(), reader.entities("proximity"), reader.entities("proximity", SECOND)]
    for iterator in iterators:
        next(iterator)
        busy = writer._store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        assert busy == 0
    assert not reader._connection.in_transaction
    with pytest.raises(NotInMemoryError):
        reader.entity("proximity", "unicorn_1")
    assert not reader._connection.in_transaction


def test_frames_out_of_order_are_sorted_by_time(open_writer, open_reader):
    writer = open_writer()
    reader = open_reader()
    for stamps in ([5, 3], [9, 1, 5], [4]):
        for stamp in stamps:
            writer.add_keyframe(frame(stamp, stamp).capture())
        reader.refresh()
    table = reader.frames()
    assert (table.stamps_ns // SECOND).tolist() == [1, 3, 4, 5, 5, 9]
    assert table.ids.tolist() == [4, 2, 6, 1, 5, 3]
    assert table.position_m[:, 0].tolist() == [1, 3, 4, 5, 5, 9]
    with pytest.raises(ValueError, match="read-only"):
        table.ids[0] = 7
    assert [reader.keyframe_nearest(int(t * SECOND)).keyframe_id for t in (0, 2, 6.9, 7.1, 100)] == [4, 4, 5, 3, 3]


def test_a_memory_without_keyframes_has_no_nearest(open_writer, open_reader):
    open_writer()
    with pytest.raises(NotInMemoryError, match="is empty"):
        open_reader().keyframe_nearest(0)


def test_readers_in_several_threads_never_see_half_an_operation(path):
    """One process writes as fast as it can; three readers follow, each on a connection of its own."""
    receive, send = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=writing_process.write, args=(str(path), 11, send))
    process.start()
    send.close()
    receive.recv()
    failures: list[BaseException] = []

    def follow() -> None:
        try:
            looks: list[int] = []
            with MemoryReader.open(path) as reader:
                # However slowly the writer gets on: fifteen looks, at four states of the memory or more.
                while len(looks) < 15 or len(set(looks)) < 4:
                    with reader.snapshot():
                        check_whole(reader, images=False)
                    looks.append(reader.revision)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=follow) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process.kill()
    process.join()
    receive.close()
    assert failures == []


def test_a_committed_keyframe_is_seen_by_another_process_at_once(path):
    """No waiting in between: what was acknowledged is visible to the next look of any reader."""
    receive, send = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=writing_process.write, args=(str(path), 5, send))
    process.start()
    send.close()
    receive.recv()
    with MemoryReader.open(path) as reader:
        known = set(reader.frames().ids.tolist())
        for _ in range(30):
            verb, number = receive.recv()
            changes = reader.refresh()
            known |= set(changes.keyframe_ids)
            # What is forgotten is always the oldest: of a writer that is far ahead it may be gone by now.
            assert verb == "forgot" or number in known or number < min(reader.frames().ids.tolist())
    process.kill()
    process.join()
    receive.close()


def test_statistics_count_what_is_there(open_writer, open_reader, path):
    writer = open_writer(encoder=WordEncoder())
    remember(writer, [frame(1, -2, "cup", caption="A cup. A room."), frame(3, 4, "cup", "chair")])
    writer.add_keyframe(frame(9, 0).capture())
    stats = open_reader().stats()
    assert (stats.keyframes, stats.pending, stats.observations, stats.texts) == (3, 1, 3, 4)
    assert stats.entities == {"proximity": 3}
    assert (stats.oldest_ns, stats.newest_ns) == (SECOND, 9 * SECOND)
    assert stats.bounds_m == ((-2.0, 0.0, 0.0), (4.0, 0.0, 0.0))
    assert stats.encoder_id == "words-v1"
    assert [(s.robot, s.map_id, s.frame_id) for s in stats.sessions] == [("robot", "house", "map")]
    assert stats.bytes >= path.stat().st_size


def test_unknown_names_say_what_there_is(open_writer, open_reader):
    remember(open_writer(), [frame(0, 0, "cup")])
    reader = open_reader()
    with pytest.raises(NotInMemoryError, match="view 'stoa' is not in this memory; it has proximity"):
        reader.entity("stoa", "cup_1")
    for name in ("cup_2", "cup_01", "cup_", "_1", "cup", "", "cup_1 ", "cup_١"):
        with pytest.raises(NotInMemoryError, match="is not in view 'proximity'"):
            reader.entity("proximity", name)
    for call in (reader.keyframe, reader.observations):
        with pytest.raises(NotInMemoryError, match="keyframe 99"):
            call(99)
    assert reader.image(99) is None


def test_relations_pair_times_with_the_keyframes_that_show_them(open_writer, open_reader):
    writer = open_writer()
    for second, predicate in enumerate(("on", "on", "under")):
        found = (Detection("cup"), Detection("table"), Detection("lamp"))
        mentions = (RelationMention(0, predicate, 1), RelationMention(2, "near", 0))
        remember(writer, [Frame(second * SECOND, 0, 0, Perception("", found, mentions))])
    reader = open_reader()
    told = [(r.subject_id, r.predicate, r.object_id, r.keyframe_ids) for r in reader.relations("proximity", "cup_1")]
    assert told == [
        ("cup_1", "on", "table_1", (1, 2)),
        ("lamp_1", "near", "cup_1", (1, 2, 3)),
        ("cup_1", "under", "table_1", (3,)),
    ]
    then = reader.relations("proximity", "cup_1", SECOND)
    assert [(r.predicate, r.stamps_ns) for r in then] == [("on", (0, SECOND)), ("near", (0, SECOND))]


def test_the_graph_of_a_view_follows_the_writer(open_writer, open_reader):
    writer = open_writer()
    found = (Detection("cup"), Detection("table"))
    remember(writer, [Frame(0, 0, 0, Perception("", found, (RelationMention(0, "on", 1),)))])
    reader = open_reader()
    graph = reader.graph("proximity")
    assert isinstance(graph, networkx.MultiDiGraph)
    assert ("cup_1", "table_1", "on") in graph.edges(keys=True)
    remember(writer, [Frame(SECOND, 0, 0, Perception("", found, (RelationMention(0, "on", 1),))), frame(2, 90, "dog")])
    reader.refresh()
    assert list(graph.nodes) == ["cup_1", "table_1", "dog_1"]
    assert graph.nodes["cup_1"]["entity"].observation_count == 2
    assert graph.edges["cup_1", "table_1", "on"]["relation"].keyframe_ids == (1, 2)
    writer.forget(label="table")
    assert list(reader.graph("proximity").nodes) == ["cup_1", "dog_1", "path/place_1", "path/place_3"]
    assert list(reader.graph("proximity", 0).nodes) == ["cup_1", "path/place_1"]


def test_texts_are_stored_once_and_ascend_in_order_of_first_mention(open_writer, open_reader):
    encoder = WordEncoder()
    writer = open_writer(encoder=encoder)
    remember(writer, [frame(0, 0, "cup", caption="A room. A cup."), frame(1, 0, "cup", "dog", caption="A cup. Dogs.")])
    reader = open_reader()
    texts = {t.text_id: t for t in reader.texts()}
    assert [t.text for t in texts.values()] == ["cup", "A room.", "A cup.", "dog", "Dogs."]
    assert sorted(texts) == [1, 2, 3, 4, 5]
    assert [t.text_id for t in reader.texts(3)] == [4, 5]
    assert encoder.encoded == ["cup", "A room.", "A cup.", "dog", "Dogs."]
    for text in texts.values():
        assert text.vector is not None
        assert float(text.vector @ encoder.encode([text.text])[0]) > 0.999
    mentions = [(m.keyframe_id, texts[m.text_id].text, m.role, m.observation_id) for m in reader.mentions()]
    assert mentions == [
        (1, "A room.", "caption", 0),
        (1, "A cup.", "caption", 0),
        (1, "cup", "label", 1),
        (2, "A cup.", "caption", 0),
        (2, "Dogs.", "caption", 0),
        (2, "cup", "label", 2),
        (2, "dog", "label", 3),
    ]
    assert [m.keyframe_id for m in reader.mentions(keyframe_ids=[2, 1])] == [2, 2, 2, 2, 1, 1, 1]
    assert [m.keyframe_id for m in reader.mentions(1)] == [2, 2, 2, 2]
    table = reader.mention_table()
    assert len(table) == 7
    assert table.keyframe_ids.tolist() == [m[0] for m in mentions]
    assert [texts[number].text for number in table.text_ids.tolist()] == [m[1] for m in mentions]
    assert [ROLES[role] for role in table.roles.tolist()] == [m[2] for m in mentions]
    assert table.observation_ids.tolist() == [m[3] for m in mentions]


def test_vectors_of_different_encoders_are_never_mixed(open_writer, open_reader):
    class Other(WordEncoder):
        encoder_id = "other"

    with open_writer(encoder=WordEncoder()) as writer:
        remember(writer, [frame(0, 0, "cup")])
    with open_writer(encoder=Other()) as writer:
        remember(writer, [frame(1, 0, "dog")])
        reader = open_reader()
        assert {t.text: t.vector is not None for t in reader.texts()} == {"cup": False, "dog": True}
        assert writer.embed_missing() == 1
        assert all(t.vector is not None for t in reader.texts())
        assert reader.stats().encoder_id == "other"
        assert writer.embed_missing() == 0


def seen_through(x_m: float, at: tuple[float, float], side_px: float = 60.0) -> Detection:
    """A box where a camera at ``(x_m, 0)`` that looks along x sees a thing at ``at``."""
    ahead = at[0] - x_m - 0.1
    u = 320 - 525 * at[1] / ahead
    return Detection("vase", (u - side_px / 2, 200.0, u + side_px / 2, 260.0))


def test_a_thing_that_is_missed_where_it_should_be_seen_is_gone_and_was_not_before(open_writer, open_reader):
    writer = open_writer()
    at = (5.0, 0.6)
    for i in range(16):
        detection = seen_through(0.2 * i, at)
        remember(writer, [Frame(i * SECOND, 0.2 * i, 0, Perception("", (detection,)))])
    present = open_reader().entity("proximity", "vase_1")
    assert present.state is EntityState.PRESENT
    for i in range(12):
        remember(writer, [Frame((100 + i * 100) * SECOND, 0.2 * i, 0, Perception(""))])
    reader = open_reader()
    gone = reader.entity("proximity", "vase_1")
    assert gone.state is EntityState.GONE
    assert gone.last_seen_ns == 15 * SECOND
    assert reader.entity("proximity", "vase_1", 15 * SECOND).state is EntityState.PRESENT
    writer.correct_poses({1: (Pose.planar("map", 0.0, 0.0), None)})
    assert open_reader().entity("proximity", "vase_1").state is EntityState.GONE
    remember(writer, [Frame(9_000 * SECOND, 1.0, 0, Perception("", (seen_through(1.0, at),)))])
    assert open_reader().entity("proximity", "vase_1").state is EntityState.PRESENT


def test_following_and_looking_around_take_as_many_statements_in_a_larger_memory(open_writer, path):
    writer = open_writer()
    counts = []
    for part in range(2):
        remember(writer, [frame(100 * part + i, 500 * part + i, "cup", f"thing {part} {i}") for i in range(100)])
        with MemoryReader.open(path) as reader:
            statements: list[str] = []
            reader._connection.set_trace_callback(statements.append)
            reader.refresh()
            reader.near("proximity", (3.0, 0.0, 0.0), 0.1)
            counts.append(len(statements))
    assert counts[0] == counts[1]


def test_a_writer_may_be_used_from_several_threads(open_writer, open_reader):
    writer = open_writer()
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            remember(writer, [frame(10 * number + i, 100 * number, "cup") for i in range(10)])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [e.observation_count for e in open_reader().entities("proximity")] == [10, 10, 10, 10]
