"""What runs under ROS 2: nodes translate and schedule; what they schedule is in the packages beside this one."""

import os

# Before NumPy is imported: its products are small here, and on a busy machine OpenBLAS's threads wait for each other,
# spinning, for longer than they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
