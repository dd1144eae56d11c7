"""RViz markers: what an entity, a path of keyframes and a goal look like."""

from __future__ import annotations

import colorsys
import math
import zlib
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from vlkng_ros.nodes.messages import pose_message
from vlkng_ros.types import Entity, EntityState, Pose, PositionSource

OPACITY = {EntityState.PRESENT: 0.9, EntityState.MOVED: 0.5, EntityState.UNKNOWN: 0.5, EntityState.GONE: 0.2}
TEXT_HEIGHT_M = 0.2
LARGEST_SIGMA_M = 3.0


def deletion(ns: str, number: int) -> Marker:
    """Takes one marker away."""
    return Marker(ns=ns, id=number, action=Marker.DELETE)


def delete_all() -> Marker:
    """Takes away whatever came on the topic before."""
    return Marker(action=Marker.DELETEALL)


def colour_of(label: str, opacity: float) -> ColorRGBA:
    """A colour that a label always has."""
    hue = (zlib.crc32(label.encode()) % 360) / 360
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.7, 0.95)
    return ColorRGBA(r=red, g=green, b=blue, a=opacity)


def _marker(ns: str, number: int, kind: int, frame_id: str, stamp: Time) -> Marker:
    marker = Marker(ns=ns, id=number, type=kind, action=Marker.ADD)
    marker.header.frame_id = frame_id
    marker.header.stamp = stamp
    marker.pose.orientation.w = 1.0
    return marker


def entity_markers(entity: Entity, number: int, stamp: Time) -> list[Marker]:
    """A sphere where the entity is, its name, and its covariance at one sigma."""
    opacity = OPACITY[entity.state]
    x, y, z = (float(value) for value in entity.position.mean_m)
    frame_id = entity.position.frame_id
    sphere = _marker("objects", number, Marker.SPHERE, frame_id, stamp)
    sphere.pose.position = Point(x=x, y=y, z=z)
    sphere.scale.x = sphere.scale.y = sphere.scale.z = 0.2
    sphere.color = colour_of(entity.label, opacity)
    text = _marker("names", number, Marker.TEXT_VIEW_FACING, frame_id, stamp)
    text.pose.position = Point(x=x, y=y, z=z + 0.25)
    text.scale.z = TEXT_HEIGHT_M
    text.color = ColorRGBA(r=1.0, g=1.0, b=1.0, a=max(opacity, 0.4))
    state = "" if entity.state is EntityState.PRESENT else f" ({entity.state.value})"
    where = " near here" if entity.position.source is PositionSource.ROBOT else ""
    text.text = f"{entity.label}{where}{state}\n{entity.entity_id}, seen {entity.observation_count}x"
    return [sphere, text, *_covariance(entity, number, stamp)]


def _covariance(entity: Entity, number: int, stamp: Time) -> list[Marker]:
    variances, axes = np.linalg.eigh(np.asarray(entity.position.covariance_m2, dtype=np.float64))
    if not np.all(np.isfinite(variances)) or variances[-1] <= 0:
        return []
    if np.linalg.det(axes) < 0:
        axes[:, 0] = -axes[:, 0]
    ellipsoid = _marker("covariance", number, Marker.SPHERE, entity.position.frame_id, stamp)
    ellipsoid.pose = pose_message(Pose.from_rotation("", entity.position.mean_m, axes))
    sigmas = np.clip(2 * np.sqrt(np.maximum(variances, 1e-6)), 0.01, 2 * LARGEST_SIGMA_M)
    ellipsoid.scale.x, ellipsoid.scale.y, ellipsoid.scale.z = (float(sigma) for sigma in sigmas)
    ellipsoid.color = colour_of(entity.label, 0.15)
    return [ellipsoid]


def relation_marker(number: int, start: Sequence[float], end: Sequence[float], frame_id: str, stamp: Time) -> Marker:
    """An arrow from a relation's subject to its object."""
    arrow = _marker("relations", number, Marker.ARROW, frame_id, stamp)
    arrow.points = [Point(x=float(p[0]), y=float(p[1]), z=float(p[2])) for p in (start, end)]
    arrow.scale.x, arrow.scale.y, arrow.scale.z = 0.02, 0.06, 0.08
    arrow.color = ColorRGBA(r=0.8, g=0.8, b=0.8, a=0.6)
    return arrow


def path_marker(positions_m: np.ndarray, frame_id: str, stamp: Time) -> Marker:
    """The places of keyframes, shape ``(n, 3)``, as points."""
    marker = _marker("keyframes", 0, Marker.POINTS, frame_id, stamp)
    marker.points = [Point(x=float(x), y=float(y), z=float(z)) for x, y, z in positions_m]
    marker.scale.x = marker.scale.y = 0.06
    marker.color = ColorRGBA(r=0.3, g=0.6, b=1.0, a=0.8)
    return marker


def arrow_marker(ns: str, number: int, pose: Pose, stamp: Time, colour: ColorRGBA, length_m: float = 0.6) -> Marker:
    """An arrow along a pose's x axis."""
    marker = _marker(ns, number, Marker.ARROW, pose.frame_id, stamp)
    marker.pose = pose_message(pose)
    marker.scale.x, marker.scale.y, marker.scale.z = length_m, 0.08, 0.08
    marker.color = colour
    return marker


def text_marker(ns: str, number: int, pose: Pose, text: str, stamp: Time) -> Marker:
    """Words above a place."""
    marker = _marker(ns, number, Marker.TEXT_VIEW_FACING, pose.frame_id, stamp)
    x, y, z = pose.position_m
    marker.pose.position = Point(x=x, y=y, z=z + 0.4)
    marker.scale.z = TEXT_HEIGHT_M
    marker.color = ColorRGBA(r=1.0, g=1.0, b=1.0, a=1.0)
    marker.text = text
    return marker


def thinned(positions_m: np.ndarray, most: int) -> np.ndarray:
    """At most so many of the rows, evenly spread."""
    step = max(1, math.ceil(len(positions_m) / max(1, most)))
    return positions_m[::step]
