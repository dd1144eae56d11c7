"""``make setup`` replaces what it made itself, and nothing else."""

import importlib
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def test_an_environment_of_another_folder_is_not_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    setup = importlib.import_module("setup_ros")
    for name in (".venv", ".ros"):
        (tmp_path / "other" / name / "build").mkdir(parents=True)
    (tmp_path / ".ros").symlink_to(tmp_path / "other" / ".ros")
    monkeypatch.setattr(setup, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(setup, "ROS", tmp_path / ".ros")
    with pytest.raises(setup.SetupError, match=r"is a link to .*other"):
        setup.make_venv("python3", False, tmp_path / "log")
    assert (tmp_path / "other" / ".ros" / "build").is_dir()
