"""What runs under ROS 2: nodes translate and schedule; what they schedule is in the packages beside this one."""
