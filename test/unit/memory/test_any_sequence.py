"""Whatever is done to a memory, in whatever order: nothing is lost, counted twice, or comes back."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest
from conftest import ram_folder
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from remembered_drives import SECOND, Frame, Told, WordEncoder, perceptions, told

from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.hybrid import HybridAssociator
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.memory.labels import normal_form
from vlkng_ros.types import Perception, PerceptionState, Pose

VIEWS = ("proximity", "hybrid")
places = st.tuples(st.integers(0, 8), st.integers(0, 3))


class AnySequence(RuleBasedStateMachine):
    """A writer, one reader that follows it and one that starts anew, and what they should know."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = ram_folder()
        self.path = self.folder / "memory.db"
        self.stamp = 0
        self.frames: dict[int, Frame] = {}
        self.described: dict[int, list[int]] = {}
        self.labels: dict[int, str] = {}
        self.associated: set[int] = set()
        self.last_ids = [0, 0]
        self.ever: dict[str, set[str]] = {view: set() for view in VIEWS}
        self.gone: dict[str, set[str]] = {view: set() for view in VIEWS}
        self.summed: dict[str, dict[str, set[int]]] = {view: {} for view in VIEWS}
        """Observations that are kept in summary only, by the entity that counts them."""
        self.frame_of: dict[int, int] = {}
        self.followed: dict[str, dict[str, Told]] = {view: {} for view in VIEWS}

    @initialize()
    def start(self) -> None:
        self.open()
        self.writer.start_session(robot="robot", map_id="house", frame_id="map")
        self.follower = MemoryReader.open(self.path)

    def open(self) -> None:
        associators = [ProximityAssociator(), HybridAssociator()]
        self.writer = MemoryWriter.open(self.path, encoder=WordEncoder(), associators=associators)

    @rule(place=places, step=st.integers(0, 2), camera=st.booleans(), image=st.booleans())
    def add(self, place: tuple[int, int], step: int, camera: bool, image: bool) -> None:
        self.stamp += step * SECOND
        item = Frame(self.stamp, place[0] / 2, place[1] / 2, Perception(), 0.0, camera, b"jpeg" if image else None)
        keyframe = self.writer.add_keyframe(item.capture(), item.jpeg)
        assert keyframe.keyframe_id > self.last_ids[0]
        self.last_ids[0] = keyframe.keyframe_id
        self.frames[keyframe.keyframe_id] = item

    def pending(self) -> list[int]:
        return [number for number in self.frames if number not in self.described]

    @precondition(lambda self: self.pending())
    @rule(data=st.data(), perception=perceptions(), associate=st.booleans())
    def describe(self, data: st.DataObject, perception: Perception, associate: bool) -> None:
        number = data.draw(st.sampled_from(self.pending()))
        observations = self.writer.add_perception(number, perception)
        assert all(o.observation_id > self.last_ids[1] for o in observations)
        self.last_ids[1] = max([self.last_ids[1], *(o.observation_id for o in observations)])
        self.described[number] = [o.observation_id for o in observations]
        self.frame_of.update(dict.fromkeys(self.described[number], number))
        self.labels.update({o.observation_id: o.detection.label for o in observations})
        if associate:
            self.writer.associate(number)
            self.associated = {o for ids in self.described.values() for o in ids}

    @rule()
    def restart(self) -> None:
        self.writer.close()
        self.open()
        self.writer.start_session(robot="robot", map_id="house", frame_id="map")
        self.associated = {o for ids in self.described.values() for o in ids}

    @precondition(lambda self: self.frames)
    @rule(data=st.data(), place=places)
    def correct(self, data: st.DataObject, place: tuple[int, int]) -> None:
        numbers = data.draw(st.lists(st.sampled_from(sorted(self.frames)), max_size=3, unique=True))
        poses = {n: (Pose.planar("map", place[0] / 3, place[1] / 3), None) for n in numbers}
        assert self.writer.correct_poses(poses) == len(numbers)

    @precondition(lambda self: self.associated)
    @rule(older=st.one_of(st.none(), st.integers(1, 12)), keep=st.one_of(st.none(), st.integers(0, 6)))
    def summarise(self, older: int | None, keep: int | None) -> None:
        times = [None, *(i * SECOND for i in range(0, 13, 3))]
        with MemoryReader.open(self.path) as reader:
            owners = {v: self.owners(reader, v) for v in reader.views()}
            before = [self.counted(reader, v, t) for v in reader.views() for t in times]
            whole = {v: {n: (e.entity, e.relations) for n, e in told(reader, v).items()} for v in reader.views()}
        self.writer.summarise(older_than_ns=None if older is None else older * SECOND, keep=keep)
        with MemoryReader.open(self.path) as reader:
            assert [self.counted(reader, v, t) for v in reader.views() for t in times] == before
            for view in reader.views():
                after = {n: (e.entity, e.relations) for n, e in told(reader, view).items()}
                assert after == whole[view]
                for entity in reader.entities(view):
                    left = {s.keyframe_id for s in reader.sightings(view, entity.entity_id)}
                    assert {entity.first_keyframe_id, entity.last_keyframe_id} <= left
            left = {o.observation_id for number in self.described for o in reader.observations(number)}
        lost = {o for ids in self.described.values() for o in ids} - left
        assert lost <= self.associated
        if keep == 0:
            assert len(left - self.associated) + self.kept_at_most(owners) >= len(left)
        self.lose(list(lost))
        for view, owner in owners.items():
            for o in lost:
                self.summed[view].setdefault(owner[o], set()).add(o)

    def owners(self, reader: MemoryReader, view: str) -> dict[int, str]:
        named = (reader.entities_in(view, number) for number in self.described)
        return {o: name for found in named for o, name in found.items()}

    def kept_at_most(self, owners: dict[str, dict[int, str]]) -> int:
        return sum(3 * len({(name, self.labels[o]) for o, name in owner.items()}) for owner in owners.values())

    def counted(self, reader: MemoryReader, view: str, at: int | None) -> list[tuple[object, ...]]:
        found = []
        for e in reader.entities(view, at):
            history = reader.history(view, e.entity_id, as_of_ns=at)
            assert history.count == e.observation_count
            assert (history.entries[0].first_ns, history.entries[-1].last_ns) == (e.first_seen_ns, e.last_seen_ns)
            found.append((e.entity_id, e.observation_count, e.first_seen_ns, e.last_seen_ns, e.first_keyframe_id))
        return found

    def lose_summed(self, selected: set[int], named: tuple[str, str] | None = None) -> None:
        """What was summed up with what was forgotten is gone with it, and nothing else is."""
        with MemoryReader.open(self.path) as reader:
            for view in reader.views():
                counts = {e.entity_id: e.observation_count for e in reader.entities(view)}
                for name, summed in list(self.summed[view].items()):
                    left = len(reader.sightings(view, name)) if name in counts else 0
                    kept = counts.get(name, 0) == left + len(summed)
                    assert kept or counts.get(name, 0) == left
                    if summed & selected or (view, name) == named:
                        assert not kept
                    if not kept:
                        del self.summed[view][name]

    @rule(label=st.sampled_from(("cups", "chair", "zebra")), since=st.one_of(st.none(), st.integers(0, 8)))
    def forget_label(self, label: str, since: int | None) -> None:
        start = None if since is None else since * SECOND
        summary = self.writer.forget(label=label, since_ns=start)
        lost = [
            o
            for number, ids in self.described.items()
            if start is None or self.frames[number].stamp_ns >= start
            for o in ids
            if normal_form(self.labels[o]) == normal_form(label)
        ]
        assert summary.observations == len(lost)
        self.lose(lost)
        self.lose_summed(
            {
                o
                for o, number in self.frame_of.items()
                if number in self.frames
                and (start is None or self.frames[number].stamp_ns >= start)
                and normal_form(self.labels[o]) == normal_form(label)
            }
        )

    @rule(since=st.integers(0, 8), length=st.integers(0, 2))
    def forget_time(self, since: int, length: int) -> None:
        until = (since + length) * SECOND
        lost = [n for n, item in self.frames.items() if since * SECOND <= item.stamp_ns <= until]
        summary = self.writer.forget(since_ns=since * SECOND, until_ns=until)
        assert summary.keyframes == len(lost)
        self.lose([o for n in lost for o in self.described.pop(n, [])])
        for number in lost:
            del self.frames[number]
        self.lose_summed({o for o, number in self.frame_of.items() if number in lost})

    @rule(data=st.data(), view=st.sampled_from(VIEWS))
    def forget_entity(self, data: st.DataObject, view: str) -> None:
        with MemoryReader.open(self.path) as reader:
            ids = [e.entity_id for e in reader.entities(view)]
            if not ids:
                return
            chosen = data.draw(st.sampled_from(ids))
            lost = [s.observation_id for s in reader.sightings(view, chosen)]
        summary = self.writer.forget(view=view, entity_ids=[chosen])
        assert summary.observations == len(lost)
        assert summary.entities[view] >= 1
        self.lose(lost)
        self.lose_summed(self.summed[view].get(chosen, set()), (view, chosen))

    def lose(self, observations: list[int]) -> None:
        for number, ids in self.described.items():
            self.described[number] = [o for o in ids if o not in observations]
        self.associated -= set(observations)

    @rule()
    def follow(self) -> None:
        changes = self.follower.refresh()
        for view in VIEWS:
            for name in changes.forgotten_entities.get(view, ()):
                del self.followed[view][name]
            for name in changes.entities.get(view, ()):
                self.followed[view][name] = told(self.follower, view)[name]

    @invariant()
    def everything_is_there_once(self) -> None:
        with MemoryReader.open(self.path) as reader:
            assert sorted(reader.frames().ids.tolist()) == sorted(self.frames)
            stats = reader.stats()
            assert (stats.keyframes, stats.pending) == (len(self.frames), len(self.pending()))
            assert stats.observations == sum(map(len, self.described.values()))
            for number, ids in self.described.items():
                assert [o.observation_id for o in reader.observations(number)] == ids
            for keyframe in reader.keyframes(sorted(self.frames)):
                described = keyframe.keyframe_id in self.described
                assert (keyframe.perception is PerceptionState.DONE) == described
                assert (reader.image(keyframe.keyframe_id) is not None) == keyframe.has_image
            for view in reader.views():
                entities = list(reader.entities(view))
                summed = [o for ids in self.summed[view].values() for o in ids]
                counted = [*self.associated, *summed]
                assert sum(e.observation_count for e in entities) == len(counted)
                seen = [s for e in entities for s in reader.sightings(view, e.entity_id)]
                assert {s.observation_id for s in seen} == self.associated
                assert len(seen) == len(self.associated)
                assert sum((Counter(e.labels) for e in entities), Counter()) == Counter(self.labels[o] for o in counted)
                now = {e.entity_id for e in entities}
                self.gone[view] |= self.ever[view] - now
                self.ever[view] |= now
                assert not now & self.gone[view], "an id came back"

    @invariant()
    def a_follower_knows_what_a_fresh_reader_knows(self) -> None:
        self.follow()
        with MemoryReader.open(self.path) as fresh:
            for one, other in zip(_columns(self.follower), _columns(fresh), strict=True):
                assert one == other
            for view in fresh.views():
                expected = told(fresh, view)
                assert {n: t.entity for n, t in self.followed[view].items()} == {
                    n: t.entity for n, t in expected.items()
                }
                for position in ((0.0, 0.0, 0.0), (3.0, 1.0, 0.0)):
                    for until in (None, 3 * SECOND):
                        here = [e.entity_id for e in self.follower.near(view, position, 2.0, until)]
                        assert here == [e.entity_id for e in fresh.near(view, position, 2.0, until)]
                graph, anew = self.follower.graph(view), fresh.graph(view)
                assert set(graph.nodes) == set(anew.nodes)
                assert sorted(graph.edges(keys=True)) == sorted(anew.edges(keys=True))

    def teardown(self) -> None:
        if hasattr(self, "follower"):
            self.follower.close()
            self.writer.close()
        shutil.rmtree(self.folder)


def _columns(reader: MemoryReader) -> list[list[object]]:
    table = reader.frames()
    return [table.ids.tolist(), table.stamps_ns.tolist(), table.position_m.tolist(), table.session.tolist()]


AnySequence.TestCase.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
TestAnySequence = AnySequence.TestCase


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_any_of_many_sequences():
    run_state_machine_as_test(AnySequence, settings=settings(max_examples=400, stateful_step_count=30, deadline=None))
