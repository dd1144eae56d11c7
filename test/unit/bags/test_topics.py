"""Topics are chosen by name where given and by type where that leaves one choice."""

from __future__ import annotations

import pytest

from vlkng_ros.bags.messages import CAMERA_INFO, COMPRESSED_IMAGE, IMAGE, ODOMETRY, POSE, POSE_WITH_COVARIANCE, TF
from vlkng_ros.bags.recording import BagTopic
from vlkng_ros.bags.topics import choose_topics
from vlkng_ros.errors import BagError


def bag(*topics: tuple[str, str], empty: tuple[str, ...] = ()) -> list[BagTopic]:
    return [BagTopic(name, msgtype, 0 if name in empty else 9) for name, msgtype in topics]


ROBOT = bag(
    ("/camera/image_raw", IMAGE),
    ("/camera/camera_info", CAMERA_INFO),
    ("/pose", POSE_WITH_COVARIANCE),
    ("/initialpose", POSE_WITH_COVARIANCE),
    ("/goal_pose", POSE),
    ("/odom", ODOMETRY),
    ("/tf", TF),
    ("/tf_static", TF),
    ("/scan", "sensor_msgs/msg/LaserScan"),
)


def test_a_usual_robot_needs_no_names() -> None:
    chosen = choose_topics(ROBOT)
    assert chosen.names == ["/camera/image_raw", "/camera/camera_info", "/pose", "/odom", "/tf", "/tf_static"]


def test_a_name_works_with_and_without_its_slash() -> None:
    assert choose_topics(ROBOT, image="camera/image_raw").image.name == "/camera/image_raw"
    assert choose_topics(ROBOT, pose="/odom").odometry is None


def test_a_wish_is_not_a_pose() -> None:
    chosen = choose_topics([topic for topic in ROBOT if topic.name != "/pose"])
    assert chosen.pose is None
    assert [topic.name for topic in chosen.transforms] == ["/tf", "/tf_static"]


def test_a_pose_with_covariance_goes_before_one_without() -> None:
    assert choose_topics([*ROBOT, *bag(("/tracker/pose", POSE))]).pose == BagTopic("/pose", POSE_WITH_COVARIANCE, 9)


def test_a_topic_without_messages_is_no_choice() -> None:
    topics = bag(("/a/image", IMAGE), ("/b/image", IMAGE), ("/pose", POSE), empty=("/a/image",))
    assert choose_topics(topics).image.name == "/b/image"


def test_the_camera_info_beside_the_image_is_its_own() -> None:
    two = bag(("/left/camera_info", CAMERA_INFO), ("/right/camera_info", CAMERA_INFO), ("/pose", POSE))
    chosen = choose_topics([*two, *bag(("/right/image_raw/compressed", COMPRESSED_IMAGE))])
    assert chosen.camera_info is not None
    assert chosen.camera_info.name == "/right/camera_info"
    assert choose_topics([*two, *bag(("/image", IMAGE))]).camera_info is None


def test_depth_is_no_second_camera() -> None:
    depth = bag(("/camera/depth/image_rect_raw", IMAGE), ("/camera/image_raw/compressedDepth", COMPRESSED_IMAGE))
    assert choose_topics([*ROBOT, *depth]).image.name == "/camera/image_raw"


def test_of_several_odometries_the_usual_name_is_taken() -> None:
    assert choose_topics([*ROBOT, *bag(("/ekf", ODOMETRY))]).odometry == BagTopic("/odom", ODOMETRY, 9)
    two = [topic for topic in ROBOT if topic.name != "/odom"] + bag(("/ekf", ODOMETRY), ("/wheels", ODOMETRY))
    assert choose_topics(two).odometry is None


@pytest.mark.parametrize(
    ("topics", "names", "says"),
    [
        ([], {}, "the bag holds no images .*; it holds nothing"),
        (ROBOT, {"image": "/pose"}, "image: /pose is a .*PoseWithCovarianceStamped; needs sensor_msgs/msg/Image or"),
        (ROBOT, {"odometry": "/none"}, r"odometry: no topic /none in the bag; it holds /camera/image_raw \(sensor"),
        (ROBOT, {"camera_info": "/odom"}, "camera_info: /odom is a nav_msgs/msg/Odometry"),
        (
            [*ROBOT, *bag(("/amcl_pose", POSE_WITH_COVARIANCE))],
            {},
            "several pose topics: /pose, /amcl_pose; name one: --pose",
        ),
        ([*ROBOT, *bag(("/rear/image", IMAGE))], {}, "several image topics: /camera/image_raw, /rear/image; name one"),
    ],
)
def test_a_choice_that_is_not_clear_is_left_to_the_user(
    topics: list[BagTopic], names: dict[str, str], says: str
) -> None:
    with pytest.raises(BagError, match=says):
        choose_topics(topics, **names)
