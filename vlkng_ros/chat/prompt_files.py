"""Prompts are text files: ``version: N``, an empty line, then the text with ``$placeholders``.

A file of the same name in a folder of the user's takes the packaged one's place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from string import Template

from vlkng_ros.errors import ConfigError

_HEADER = re.compile(r"version: (\d+)\n\n")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as read from its file."""

    path: Path
    version: int
    text: str

    def filled(self, **values: object) -> str:
        """The text with its placeholders filled in.

        Raises:
            ConfigError: the text has a placeholder that there is no value for.
        """
        try:
            return Template(self.text).substitute({name: str(value) for name, value in values.items()})
        except (KeyError, ValueError) as error:
            known = ", ".join(f"${name}" for name in sorted(values))
            raise ConfigError(f"prompt {self.path}: placeholder {error} is not one of {known}") from error


def load_prompt(packaged: Path, name: str, folder: str = "") -> Prompt:
    """Prompt ``name`` from ``folder``, if it is there, else from the folder ``packaged``.

    Raises:
        ConfigError: the file cannot be read, or does not begin with its version.
    """
    path = packaged / f"{name}.txt"
    if folder:
        overriding = Path(folder).expanduser()
        if not overriding.is_dir():
            raise ConfigError(f"prompts folder {overriding}: there is no such folder")
        if (overriding / f"{name}.txt").is_file():
            path = overriding / f"{name}.txt"
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"prompt {path}: cannot be read: {error}") from error
    header = _HEADER.match(content)
    if header is None:
        raise ConfigError(f"prompt {path}: must begin with a line 'version: N' and an empty line")
    return Prompt(path, int(header[1]), content[header.end() :].strip())
