"""Build a memory from a robot's camera and pose, and answer questions from it.

    ros2 launch vlkng_ros memory.launch.py image:=/camera/image_raw pose:=/pose odom:=/odom map_id:=office

Lists every argument: ros2 launch vlkng_ros memory.launch.py --show-args
"""

import os

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

# Argument, default, description. Arguments left empty keep what the parameter file says.
ARGUMENTS = (
    ("namespace", "", "namespace of both nodes; two robots in one graph need two"),
    ("use_sim_time", "false", "take the time from /clock"),
    ("autostart", "true", "configure and activate the nodes at once; false: a lifecycle manager does"),
    ("respawn", "false", "start a node again, after 5 s, that has ended by itself or died"),
    ("params_file", os.path.join(get_package_share_directory("vlkng_ros"), "config", "vlkng.yaml"), "parameters"),
    ("python", "", "interpreter that runs the nodes, such as ~/vlkng_venv/bin/python; empty: the system's"),
    ("log_level", "info", "debug, info, warn, error or fatal"),
    ("builder", "true", "start builder_node"),
    ("query", "true", "start query_node"),
    ("image", "image", "camera topic; compressed images are taken from this name with /compressed"),
    ("camera_info", "camera_info", "intrinsics of that camera"),
    ("depth", "depth", "depth images aligned to the camera's, with camera.depth: true in the parameter file"),
    ("pose", "pose", "pose in the map: SLAM Toolbox's /pose, AMCL's /amcl_pose, or what pose.type says"),
    ("odom", "odom", "odometry, which carries the pose forward between its messages"),
    ("graph", "slam_toolbox/graph_visualization", "SLAM Toolbox's pose graph, which moves when a loop is closed"),
    ("tf", "/tf", "transforms; a robot in a namespace has them at /NAME/tf"),
    ("tf_static", "/tf_static", "transforms that stay, likewise"),
    ("action", "", "NavigateToPose action; empty: navigation.action of the parameter file"),
    ("memory", "", "database file; empty: memory.path of the parameter file"),
    ("map_id", "", "name of the map that localisation uses; empty: robot.map_id of the parameter file"),
    ("robot_name", "", "name stored with every keyframe; empty: robot.name of the parameter file"),
    ("backend", "", "perception backend; empty: perception.backend of the parameter file"),
)


def is_true(text: str) -> bool:
    """Whether a launch argument says yes."""
    return text.strip().lower() in ("true", "1", "yes", "on")


def text(value):
    """A parameter that stays text: launch would make a number of map_id:=12."""
    return ParameterValue(value, value_type=str)


def make_nodes(context):
    """The nodes, once the arguments have values."""
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    both = {"use_sim_time": is_true(value["use_sim_time"]), "autostart": is_true(value["autostart"])}
    for argument, parameter in (("memory", "memory.path"), ("map_id", "robot.map_id"), ("robot_name", "robot.name")):
        if value[argument]:
            both[parameter] = text(value[argument])
    builder = {"perception.backend": text(value["backend"])} if value["backend"] else {}
    query = {"navigation.action": text(value["action"])} if value["action"] else {}
    topics = [(name, value[name]) for name in ("image", "camera_info", "depth", "pose", "odom")]
    topics += [
        ("image/compressed", f"{value['image']}/compressed"),
        ("slam_toolbox/graph_visualization", value["graph"]),
        ("/tf", value["tf"]),
        ("/tf_static", value["tf_static"]),
    ]

    nodes = []
    for name, own in (("builder", builder), ("query", query)):
        if not is_true(value[name]):
            continue
        nodes.append(
            Node(
                package="vlkng_ros",
                executable=f"{name}_node",
                name=f"{name}_node",
                namespace=value["namespace"],
                prefix=os.path.expanduser(value["python"]),
                parameters=[value["params_file"], {**both, **own}],
                remappings=[topic for topic in topics if topic[0] != topic[1]],
                arguments=["--ros-args", "--log-level", value["log_level"]],
                respawn=is_true(value["respawn"]),
                respawn_delay=5.0,
                output="screen",
                emulate_tty=True,
                # A builder writes what is in its queue before it ends.
                sigterm_timeout="10",
            )
        )
    return nodes


def generate_launch_description():
    """Called by ros2 launch."""
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, default, description in ARGUMENTS
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=make_nodes)])
