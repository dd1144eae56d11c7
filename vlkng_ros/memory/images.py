"""One JPEG a keyframe, in a folder beside the database.

A file is complete and on the disk before the COMMIT that mentions it, so a keyframe that says it has an image has one.
What a crash leaves over, files without a keyframe, is removed at the next opening for writing.
"""

from __future__ import annotations

import os
from pathlib import Path

from vlkng_ros.memory.database import frames_of, sync_folder

FILES_PER_FOLDER = 1_000


class ImageFolder:
    """The folder of a memory's images."""

    def __init__(self, database: Path) -> None:
        self.path = frames_of(database)
        self._durable: set[Path] = set()
        """Folders of images that a power cut cannot take away."""

    def file(self, keyframe_id: int) -> Path:
        """Where a keyframe's image is or would be."""
        return self._folder(keyframe_id) / f"{keyframe_id:09d}.jpg"

    def write(self, keyframe_id: int, jpeg: bytes) -> None:
        """Store an image durably: all of it or nothing.

        Raises:
            OSError: the disk is full or the folder read-only.
        """
        target = self.file(keyframe_id)
        if target.parent not in self._durable or not target.parent.is_dir():
            # Also where they are there: who made them may have been killed before they were durable.
            for folder in (self.path, target.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
                sync_folder(folder.parent)
            self._durable.add(target.parent)
        draft = target.with_suffix(".part")
        try:
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with open(fd, "wb") as file:
                file.write(jpeg)
                file.flush()
                os.fsync(fd)
            os.replace(draft, target)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)

    def read(self, keyframe_id: int) -> bytes | None:
        """The image, or None where the file is gone."""
        try:
            return self.file(keyframe_id).read_bytes()
        except FileNotFoundError:
            return None

    def delete(self, keyframe_id: int) -> None:
        """Remove an image; none is no error."""
        self.file(keyframe_id).unlink(missing_ok=True)

    def delete_after(self, last_keyframe_id: int) -> int:
        """Remove what a crash left: images of keyframes that were never acknowledged, and half-written files."""
        removed = 0
        if not self.path.is_dir():
            return 0
        first = last_keyframe_id // FILES_PER_FOLDER
        for folder in self.path.iterdir():
            if not folder.name.isdigit() or int(folder.name) < first:
                continue
            for file in folder.iterdir():
                if file.suffix == ".part" or (file.stem.isdigit() and int(file.stem) > last_keyframe_id):
                    file.unlink(missing_ok=True)
                    removed += 1
        return removed

    def _folder(self, keyframe_id: int) -> Path:
        return self.path / f"{keyframe_id // FILES_PER_FOLDER:06d}"
