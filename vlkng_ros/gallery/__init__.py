"""A building with photographs on its walls and a robot driving through: real pixels, exact geometry, known truth.

No public bag with a camera and SLAM poses is small enough for a demo or a test, so this is where both get theirs.
Nothing here needs ROS; ``vlkng_ros.nodes.gallery_robot`` publishes it and ``gallery.record`` writes it to a bag.
"""
