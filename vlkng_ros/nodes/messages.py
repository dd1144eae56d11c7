"""The package's types as messages, and back."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import KeyValue
from geometry_msgs.msg import Point, PointStamped, PoseStamped, Quaternion
from geometry_msgs.msg import Pose as PoseMessage

from vlkng_ros.bags.messages import POSE, pose_of, stamp_of
from vlkng_ros.errors import InvalidInputError
from vlkng_ros.msg import KeyframeRef, MemoryObject
from vlkng_ros.types import (
    NS_PER_S,
    Entity,
    EntityKind,
    EntityState,
    Keyframe,
    Pose,
    PositionSource,
    RankedKeyframe,
)

KINDS = {
    EntityKind.OBJECT: MemoryObject.KIND_OBJECT,
    EntityKind.PERSON: MemoryObject.KIND_PERSON,
    EntityKind.LOCATION: MemoryObject.KIND_LOCATION,
    EntityKind.EVENT: MemoryObject.KIND_EVENT,
}
STATES = {
    EntityState.UNKNOWN: MemoryObject.STATE_UNKNOWN,
    EntityState.PRESENT: MemoryObject.STATE_PRESENT,
    EntityState.MOVED: MemoryObject.STATE_MOVED,
    EntityState.GONE: MemoryObject.STATE_GONE,
}
SOURCES = {
    PositionSource.ROBOT: MemoryObject.SOURCE_ROBOT,
    PositionSource.TRIANGULATED: MemoryObject.SOURCE_TRIANGULATED,
    PositionSource.DEPTH: MemoryObject.SOURCE_DEPTH,
}
_MAX_S = 2**31 - 1


def time_of(stamp_ns: int) -> Time:
    """Nanoseconds as a time message, which holds seconds up to 2038."""
    seconds, nanoseconds = divmod(stamp_ns, NS_PER_S)
    return Time(sec=max(-_MAX_S, min(_MAX_S, seconds)), nanosec=nanoseconds)


def ns_of(time: Time) -> int:
    """A time message in nanoseconds."""
    return int(time.sec) * NS_PER_S + int(time.nanosec)


def pose_message(pose: Pose) -> PoseMessage:
    """A pose without its frame."""
    x, y, z = pose.position_m
    qx, qy, qz, qw = pose.orientation
    return PoseMessage(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def pose_stamped(pose: Pose, stamp_ns: int) -> PoseStamped:
    """A pose in its frame, at a time."""
    message = PoseStamped(pose=pose_message(pose))
    message.header.frame_id = pose.frame_id
    message.header.stamp = time_of(stamp_ns)
    return message


def pose_from(message: PoseStamped) -> Pose:
    """A pose from a message.

    Raises:
        PoseError: NaN, or a quaternion that is no rotation.
    """
    return pose_of(message, POSE)[1]


def stamp_ns_of(message: object) -> int:
    """A message's header stamp in nanoseconds."""
    return stamp_of(message.header)


def keyframe_ref(keyframe: Keyframe, ranked: RankedKeyframe | None = None) -> KeyframeRef:
    """A keyframe, with what speaks for it where it was ranked."""
    message = KeyframeRef(
        keyframe_id=keyframe.keyframe_id,
        stamp=time_of(keyframe.stamp_ns),
        pose=pose_stamped(keyframe.base_pose, keyframe.stamp_ns),
        has_camera_pose=keyframe.camera_pose is not None,
        camera=keyframe.camera,
        map_id=keyframe.map_id,
        caption=keyframe.caption,
    )
    if keyframe.camera_pose is not None:
        message.camera_pose = pose_message(keyframe.camera_pose)
    if keyframe.image_size_px is not None:
        message.image_width, message.image_height = keyframe.image_size_px
    if ranked is not None:
        message.score = float(ranked.score)
        message.label = ranked.label
        message.entity_id = ranked.entity_id
        message.evidence = list(ranked.evidence)
        if ranked.box_px is not None:
            message.has_box = True
            message.box_px = [float(edge) for edge in ranked.box_px]
    return message


def memory_object(entity: Entity, score: float = 0.0) -> MemoryObject:
    """An entity, with how well it fits what was asked."""
    position = PointStamped()
    position.header.frame_id = entity.position.frame_id
    position.header.stamp = time_of(entity.last_seen_ns)
    position.point.x, position.point.y, position.point.z = (float(value) for value in entity.position.mean_m)
    return MemoryObject(
        view=entity.view,
        entity_id=entity.entity_id,
        kind=KINDS[entity.kind],
        label=entity.label,
        labels=list(entity.labels),
        label_counts=list(entity.labels.values()),
        attributes=[KeyValue(key=key, value=value) for key, value in entity.attributes.items()],
        position=position,
        covariance=[float(value) for value in entity.position.covariance_m2.reshape(9)],
        position_source=SOURCES[entity.position.source],
        map_id=entity.position.map_id,
        state=STATES[entity.state],
        first_seen=time_of(entity.first_seen_ns),
        last_seen=time_of(entity.last_seen_ns),
        first_keyframe_id=entity.first_keyframe_id,
        last_keyframe_id=entity.last_keyframe_id,
        observation_count=entity.observation_count,
        score=float(score),
    )


def window_of(request: object) -> tuple[int | None, int | None]:
    """``(since_ns, as_of_ns)`` of a request that has ``use_since`` or ``use_as_of``.

    Raises:
        InvalidInputError: the window ends before it begins.
    """
    since_ns = ns_of(request.since) if getattr(request, "use_since", False) else None
    as_of_ns = ns_of(request.as_of) if getattr(request, "use_as_of", False) else None
    if since_ns is not None and as_of_ns is not None and as_of_ns < since_ns:
        raise InvalidInputError(
            f"as_of ({as_of_ns / NS_PER_S:.3f} s) is before since ({since_ns / NS_PER_S:.3f} s); the window is empty"
        )
    return since_ns, as_of_ns
