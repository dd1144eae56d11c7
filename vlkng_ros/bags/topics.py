"""Which topics of a bag are the camera's and the localisation's: by name where given, else by type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vlkng_ros.bags.messages import (
    CAMERA_INFO,
    COMPRESSED_IMAGE,
    IMAGE,
    MARKERS,
    ODOMETRY,
    POSE,
    POSE_WITH_COVARIANCE,
    TF,
)
from vlkng_ros.bags.recording import BagTopic
from vlkng_ros.errors import BagError

IMAGE_TYPES = (IMAGE, COMPRESSED_IMAGE)
POSE_TYPES = (POSE_WITH_COVARIANCE, POSE, ODOMETRY)
_NOT_WHERE_THE_ROBOT_IS = ("initialpose", "goal_pose", "goal", "goal_update", "clicked_point")
"""Topics that RViz and Nav2 publish poses on which are wishes."""
_NOT_A_PICTURE = ("depth", "disparity", "mask", "compressedDepth")


@dataclass(frozen=True, slots=True)
class ChosenTopics:
    """What a memory is built from. ``pose`` is None where poses come from TF alone."""

    image: BagTopic
    camera_info: BagTopic | None
    pose: BagTopic | None
    odometry: BagTopic | None
    transforms: tuple[BagTopic, ...]
    depth: BagTopic | None = None
    pose_graph: BagTopic | None = None
    """SLAM Toolbox's graph_visualization."""
    others: Mapping[str, tuple[BagTopic, BagTopic | None]] = field(default_factory=dict)
    """Images and camera_info of further cameras, by their names."""

    @property
    def names(self) -> list[str]:
        """All of them, once each."""
        topics = [self.image, self.camera_info, self.pose, self.odometry, self.depth, self.pose_graph]
        topics += [*(topic for pair in self.others.values() for topic in pair), *self.transforms]
        return list(dict.fromkeys(topic.name for topic in topics if topic is not None))


def choose_topics(
    topics: Sequence[BagTopic],
    *,
    image: str = "",
    camera_info: str = "",
    pose: str = "",
    odometry: str = "",
    depth: str = "",
    others: Mapping[str, str] | None = None,
) -> ChosenTopics:
    """The topics to build from; an empty name is looked for by type, but for ``depth``, which is only used if named.

    ``others`` are the image topics of further cameras, by the cameras' names.

    Raises:
        BagError: a topic that is not in the bag or has another type, no image topic, no pose, or several that could be
            meant; the message lists what there is.
    """
    filled = [topic for topic in topics if topic.count]
    further = {name: _image(topics, topic, name) for name, topic in (others or {}).items()}
    pictures = [t for t in _of_type(filled, IMAGE_TYPES, _NOT_A_PICTURE) if t not in further.values()]
    camera = _named(topics, image, IMAGE_TYPES, "image") or _only(pictures, "image", filled)
    if camera is None:
        raise BagError(f"the bag holds no images ({' or '.join(IMAGE_TYPES)}); it holds {_listed(filled)}")
    transforms = tuple(topic for topic in filled if topic.msgtype == TF)
    odometries = _of_type(filled, (ODOMETRY,))
    poses = _of_type(filled, (POSE_WITH_COVARIANCE,), _NOT_WHERE_THE_ROBOT_IS)
    poses = poses or _of_type(filled, (POSE,), _NOT_WHERE_THE_ROBOT_IS)
    where = _named(topics, pose, POSE_TYPES, "pose") or _only(poses, "pose", filled)
    if where is None and not transforms:
        hint = f"; is {odometries[0].name} in the map's frame? Then name it: --pose" if odometries else ""
        raise BagError(
            f"the bag does not say where the robot was: no {POSE_WITH_COVARIANCE}, {POSE} or {TF}{hint}; "
            f"it holds {_listed(filled)}"
        )
    carried = _named(topics, odometry, (ODOMETRY,), "odometry")
    if carried is None and (where is None or where.msgtype != ODOMETRY):
        # Odometry that is the pose source already says how the robot moved between two poses.
        left = [topic for topic in odometries if topic != where]
        carried = left[0] if len(left) == 1 else next((topic for topic in left if _is_odom(topic)), None)
    return ChosenTopics(
        image=camera,
        camera_info=_named(topics, camera_info, (CAMERA_INFO,), "camera_info") or _camera_info(filled, camera),
        pose=where,
        odometry=carried,
        transforms=transforms,
        depth=_named(topics, depth, (IMAGE,), "depth"),
        others={name: (topic, _camera_info(filled, topic)) for name, topic in further.items()},
        pose_graph=next((t for t in _of_type(filled, (MARKERS,)) if t.name.endswith("graph_visualization")), None),
    )


def _image(topics: Sequence[BagTopic], topic: str, camera: str) -> BagTopic:
    found = _named(topics, topic, IMAGE_TYPES, f"camera {camera}")
    if found is None:
        raise BagError(f"camera {camera}: its image topic has no name")
    return found


def _named(topics: Sequence[BagTopic], name: str, msgtypes: Sequence[str], what: str) -> BagTopic | None:
    if not name:
        return None
    same = [topic for topic in topics if topic.name.strip("/") == name.strip("/")]
    if not same:
        raise BagError(f"{what}: no topic {name} in the bag; it holds {_listed(topics)}")
    for topic in same:
        if topic.msgtype in msgtypes:
            return topic
    raise BagError(f"{what}: {name} is a {same[0].msgtype}; needs {' or '.join(msgtypes)}")


def _only(topics: Sequence[BagTopic], what: str, everything: Sequence[BagTopic]) -> BagTopic | None:
    if len(topics) <= 1:
        return topics[0] if topics else None
    # A camera's driver often publishes one picture twice, raw and compressed.
    stems = {topic.name.removesuffix("/compressed") for topic in topics}
    if len(stems) == 1:
        return next((topic for topic in topics if topic.msgtype == IMAGE), topics[0])
    raise BagError(f"several {what} topics: {', '.join(topic.name for topic in topics)}; name one: --{what} TOPIC")


def _of_type(topics: Sequence[BagTopic], msgtypes: Sequence[str], without: Sequence[str] = ()) -> list[BagTopic]:
    unwanted = {word.lower() for word in without}
    return [
        topic
        for topic in topics
        if topic.msgtype in msgtypes and not unwanted & {part for part in topic.name.lower().split("/")}
    ]


def _camera_info(topics: Sequence[BagTopic], image: BagTopic) -> BagTopic | None:
    """The one beside the image (``/camera/image_raw`` and ``/camera/camera_info``), or the only one."""
    infos = _of_type(topics, (CAMERA_INFO,))
    stem = image.name.removesuffix("/compressed").rsplit("/", 1)[0]
    beside = [topic for topic in infos if topic.name.rsplit("/", 1)[0] == stem]
    if beside:
        return beside[0]
    return infos[0] if len(infos) == 1 else None


def _is_odom(topic: BagTopic) -> bool:
    return topic.name.strip("/") in ("odom", "odometry")


def _listed(topics: Sequence[BagTopic]) -> str:
    return ", ".join(f"{topic.name} ({topic.msgtype})" for topic in topics) or "nothing"
