"""builder_node with the tests' backend, as a process of its own."""

import sys

from vlkng_ros.nodes.builder_node import BuilderNode
from vlkng_ros.nodes.running import run_node


class ColourBuilder(BuilderNode):
    backend_factory = "colour_backend:open_backend"


if __name__ == "__main__":
    sys.exit(run_node(ColourBuilder))
