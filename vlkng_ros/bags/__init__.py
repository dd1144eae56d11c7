"""Ways in and out of a memory: rosbag2 recordings, caption files, graph exports."""
