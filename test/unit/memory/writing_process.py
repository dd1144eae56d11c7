"""A writer that goes on until it is killed, and says through a pipe what it was told is durable."""

from __future__ import annotations

import random
from multiprocessing.connection import Connection

from remembered_drives import Frame

from vlkng_ros.memory import MemoryReader, MemoryWriter
from vlkng_ros.memory.association.proximity import ProximityAssociator
from vlkng_ros.types import Detection, Perception, Pose


def write(path: str, seed: int, pipe: Connection) -> None:
    """Add, describe, associate, and now and then correct or forget."""
    rng = random.Random(seed)
    with MemoryWriter.open(path, encoder=None, associators=[ProximityAssociator()]) as writer:
        writer.start_session(robot="robot", map_id="house", frame_id="map")
        stamp = seed * 1000
        while True:
            stamp += 1
            labels = rng.sample(["cup", "chair", "dog", "sofa", "lamp"], rng.randrange(4))
            perception = Perception("A room.", tuple(Detection(label) for label in labels))
            item = Frame(stamp, rng.uniform(0, 30), rng.uniform(0, 30), perception)
            jpeg = b"\xff\xd8" + bytes(rng.randrange(100, 20_000)) + b"\xff\xd9" if rng.random() < 0.7 else None
            keyframe = writer.add_keyframe(item.capture(), jpeg)
            pipe.send(("added", keyframe.keyframe_id))
            if rng.random() < 0.9:
                writer.add_perception(keyframe.keyframe_id, perception)
                if rng.random() < 0.9:
                    writer.associate(keyframe.keyframe_id)
            if rng.random() < 0.1:
                writer.correct_poses({keyframe.keyframe_id: (Pose.planar("map", 1.0, 2.0), None)})
            if rng.random() < 0.05:
                with MemoryReader.open(path) as reader:
                    oldest = reader.keyframe(int(reader.frames().ids[0]))
                # Said before it is done: a kill in between leaves it open whether it happened.
                pipe.send(("forgot", oldest.keyframe_id))
                writer.forget(since_ns=oldest.stamp_ns, until_ns=oldest.stamp_ns)
