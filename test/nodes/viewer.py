"""What RViz shows of a stream of marker arrays."""

from __future__ import annotations

from visualization_msgs.msg import Marker


def shown(messages):
    """Markers by namespace and id after these messages."""
    markers = {}
    for message in messages:
        for marker in message.markers:
            if marker.action == Marker.DELETEALL:
                markers.clear()
            elif marker.action == Marker.DELETE:
                markers.pop((marker.ns, marker.id), None)
            else:
                markers[(marker.ns, marker.id)] = marker
    return markers


def names(messages):
    """First lines of the names of things, by id."""
    return {number: m.text.split("\n")[0] for (ns, number), m in shown(messages).items() if ns == "names"}
