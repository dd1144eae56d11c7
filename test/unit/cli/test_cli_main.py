"""The command line itself: what it loads, what it returns, and how it ends."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import vlkng_ros
from vlkng_ros import cli
from vlkng_ros.errors import BagError, VlkngError

ROOT = Path(vlkng_ros.__file__).parent.parent
HEAVY = ("numpy", "cv2", "torch", "transformers", "sentence_transformers", "networkx", "rosbags", "rclpy", "tqdm")


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=150, check=False
    )


def with_verb(monkeypatch: pytest.MonkeyPatch, run: Callable[[argparse.Namespace], int]) -> None:
    def build_parser() -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser()
        parser.add_argument("--verbose", action="store_true")
        parser.add_subparsers().add_parser("go").set_defaults(run=run)
        return parser

    monkeypatch.setattr(cli, "build_parser", build_parser)


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys\nfrom vlkng_ros.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = run_python(code)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_lists_every_verb_that_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    files = {path.stem for path in Path(cli.__file__).parent.glob("*.py")}
    for verb in set(cli.VERBS) & files:
        assert re.search(rf"^ +{verb.rstrip('_')}\b", shown, re.MULTILINE)


@pytest.mark.parametrize(
    "verb", sorted({path.stem for path in Path(cli.__file__).parent.glob("*.py")} & set(cli.VERBS))
)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([verb.rstrip("_"), "--help"])
    assert ended.value.code == 0
    assert f"usage: vlkng {verb.rstrip('_')}" in capsys.readouterr().out


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"vlkng {vlkng_ros.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["fly"], ["import"], ["import", "captions"], ["--frobnicate"]])
def test_a_wrong_command_line_exits_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2


@pytest.mark.parametrize("error", [VlkngError("no such thing: look there"), BagError("no such thing: look there")])
def test_an_error_of_ours_is_one_line_and_2(
    error: VlkngError, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(args: argparse.Namespace) -> int:
        raise error

    with_verb(monkeypatch, run)
    assert cli.main(["go"]) == 2
    assert capsys.readouterr() == ("", "vlkng: no such thing: look there\n")


def test_a_path_of_the_callers_that_cannot_be_used_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    with_verb(monkeypatch, lambda args: (tmp_path / "file" / "folder").mkdir() or 0)
    assert cli.main(["go"]) == 2
    assert capsys.readouterr().err == f"vlkng: {tmp_path / 'file' / 'folder'}: Not a directory\n"


def test_a_wrong_option_is_one_line_that_says_where_help_is(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (["ask", "--presett", "x"], "vlkng: unrecognized arguments: --presett; see vlkng --help"),
        (["inspect", "m.db"], "vlkng: unrecognized arguments: m.db (a memory is named as --memory FILE); see"),
        (["replay", "bag", "--remap", "foo"], "'foo' is no remapping; give it as /camera/image_raw:=/image"),
    ):
        with pytest.raises(SystemExit):
            cli.main(arguments)
        shown = capsys.readouterr().err
        assert said in shown
        assert shown.count("\n") == 1


def test_ctrl_c_is_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(args: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    with_verb(monkeypatch, run)
    assert cli.main(["go"]) == 130
    assert capsys.readouterr().err == "vlkng: interrupted\n"


def test_ctrl_c_says_what_becomes_of_what_was_begun(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "c.json").write_text('[{"time": 1.5, "position": [0, 0, 0], "caption": "A door."}]')
    monkeypatch.setattr("vlkng_ros.bags.captions.import_captions", interrupt)
    assert cli.main(["import", "captions", str(tmp_path / "c.json"), "--memory", str(tmp_path / "m.db")]) == 130
    said = "vlkng: interrupted; what is done is kept, and the same command goes on from there\n"
    assert capsys.readouterr().err.endswith(said)


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    code = (
        "import sys, argparse\nfrom vlkng_ros import cli\n"
        "def run(args):\n    while True:\n        print('x' * 1000)\n"
        "def build_parser():\n    p = argparse.ArgumentParser()\n    p.add_argument('--verbose', action='store_true')\n"
        "    p.add_subparsers().add_parser('go').set_defaults(run=run)\n    return p\n"
        "cli.build_parser = build_parser\nsys.exit(cli.main(['go']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == 141


def test_python_m_is_the_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vlkng_ros.cli", "import", "captions", str(tmp_path / "none.json"), "--memory", "m.db"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"vlkng: {tmp_path / 'none.json'}: no such file\n"
