"""From camera frames and poses to keyframes in a memory, without ROS: nodes and the command line both use it."""
