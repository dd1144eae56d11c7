"""Prompts from files, the package's and the user's."""

from pathlib import Path

import pytest

from vlkng_ros.chat.prompt_files import load_prompt
from vlkng_ros.errors import ConfigError


@pytest.fixture
def packaged(tmp_path: Path) -> Path:
    folder = tmp_path / "packaged"
    folder.mkdir()
    (folder / "greet.txt").write_text("version: 3\n\nHello $name, you owe $$5.\n")
    return folder


def test_a_prompt_has_a_version_and_placeholders(packaged: Path) -> None:
    prompt = load_prompt(packaged, "greet")
    assert prompt.version == 3
    assert prompt.filled(name="{you}") == "Hello {you}, you owe $5."


def test_a_file_in_the_users_folder_takes_its_place(packaged: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert load_prompt(packaged, "greet", str(tmp_path / "mine")).version == 3
    (tmp_path / "mine" / "greet.txt").write_text("version: 9\n\nHi")
    assert load_prompt(packaged, "greet", str(tmp_path / "mine")).filled(name="x") == "Hi"


def test_a_placeholder_without_a_value_is_named(packaged: Path) -> None:
    with pytest.raises(ConfigError, match=r"greet\.txt: placeholder 'name' is not one of \$frames"):
        load_prompt(packaged, "greet").filled(frames=1)


def test_a_prompt_without_a_version_is_refused(packaged: Path) -> None:
    (packaged / "bare.txt").write_text("Hello")
    with pytest.raises(ConfigError, match=r"bare\.txt: must begin with a line 'version: N'"):
        load_prompt(packaged, "bare")


def test_a_missing_prompt_or_folder_is_named(packaged: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.txt: cannot be read"):
        load_prompt(packaged, "absent")
    with pytest.raises(ConfigError, match="nowhere: there is no such folder"):
        load_prompt(packaged, "greet", str(tmp_path / "nowhere"))
