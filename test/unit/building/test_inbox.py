import threading

from vlkng_ros.building.inbox import Event, Inbox


def kinds(events):
    return [(event.kind, event.stamp_ns) for event in events]


def test_events_come_out_in_the_order_they_came_in_across_their_sorts():
    inbox = Inbox()
    for stamp, kind in enumerate(["pose", "frame", "odometry", "frame", "pose"]):
        inbox.put(Event(kind, stamp, None))
    assert kinds(inbox.take(0.0)) == [("pose", 0), ("frame", 1), ("odometry", 2), ("frame", 3), ("pose", 4)]
    assert inbox.take(0.0) == []


def test_a_full_inbox_drops_the_oldest_frame_and_no_pose_for_it():
    inbox = Inbox(frames=2, others=3)
    inbox.put(Event("pose", 0, None))
    for stamp in range(1, 6):
        inbox.put(Event("frame", stamp, None))
    assert kinds(inbox.take(0.0)) == [("pose", 0), ("frame", 4), ("frame", 5)]
    assert inbox.dropped == {"frame": 3}


def test_small_events_are_bounded_too():
    inbox = Inbox(others=3)
    for stamp in range(5):
        inbox.put(Event("odometry", stamp, None))
    assert kinds(inbox.take(0.0)) == [("odometry", 2), ("odometry", 3), ("odometry", 4)]
    assert inbox.dropped == {"odometry": 2}


def test_a_pose_graph_takes_the_place_of_the_one_before_it():
    inbox = Inbox()
    for stamp, kind in enumerate(["graph", "pose", "graph", "pose"]):
        inbox.put(Event(kind, stamp, None))
    assert kinds(inbox.take(0.0)) == [("pose", 1), ("graph", 2), ("pose", 3)]
    assert inbox.dropped == {}


def test_waiting_ends_with_the_first_event_and_with_a_wake():
    inbox = Inbox()
    taken = []
    reader = threading.Thread(target=lambda: taken.append(inbox.take(timeout_s=30.0)))
    reader.start()
    inbox.put(Event("pose", 7, None))
    reader.join(timeout=10.0)
    assert kinds(taken[0]) == [("pose", 7)]
    inbox.wake()
    assert inbox.take(timeout_s=30.0) == []
