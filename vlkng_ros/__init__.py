"""A robot that remembers: a spatiotemporal knowledge graph on disk, and answers from it."""

import pkgutil

# The generated vlkng_ros.msg and vlkng_ros.srv live in the install space; without this line a source tree
# that stands first on the path hides them.
__path__ = pkgutil.extend_path(__path__, __name__)

__version__ = "0.1.0"
