"""Play a bag with its own clock, build a memory from it, and wait for questions.

    ros2 launch vlkng_ros replay.launch.py bag:=drive image:=/camera/image_raw pose:=/pose

The arguments of memory.launch.py can be given too; use_sim_time is on.
"""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

# A model that is loaded for the first time takes minutes.
WAIT_S = 600.0
ARGUMENTS = (
    ("bag", None, "folder of a rosbag2, or an .mcap or .db3 file"),
    ("rate", "1.0", "speed of playing"),
    ("loop", "false", "start again at the end"),
)


def is_true(text):
    """Whether a launch argument says yes."""
    return text.strip().lower() in ("true", "1", "yes", "on")


def make_player(context):
    """The player, once the arguments have values."""
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    # The bag begins when the builder, whose model is loaded by then, listens to its camera.
    awaited = {}
    if is_true(LaunchConfiguration("builder").perform(context)):
        awaited = {"wait_for_topic": LaunchConfiguration("image").perform(context), "wait_for_subscribers_s": WAIT_S}
    return [
        Node(
            package="vlkng_ros",
            executable="bag_player",
            name="bag_player",
            prefix=os.path.expanduser(LaunchConfiguration("python").perform(context)),
            parameters=[
                {
                    "bag": os.path.abspath(os.path.expanduser(value["bag"])),
                    "rate": float(value["rate"]),
                    "loop": is_true(value["loop"]),
                    **awaited,
                }
            ],
            output="screen",
        )
    ]


def generate_launch_description():
    """Called by ros2 launch."""
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, default, description in ARGUMENTS
    ]
    memory = os.path.join(get_package_share_directory("vlkng_ros"), "launch", "memory.launch.py")
    return LaunchDescription(
        [
            *arguments,
            # What was given on the command line is seen there too.
            IncludeLaunchDescription(
                PythonLaunchDescriptionSource(memory), launch_arguments={"use_sim_time": "true"}.items()
            ),
            OpaqueFunction(function=make_player),
        ]
    )
