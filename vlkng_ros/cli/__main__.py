"""``python -m vlkng_ros.cli`` is ``vlkng``."""

import sys

from vlkng_ros.cli import main

if __name__ == "__main__":
    sys.exit(main())
