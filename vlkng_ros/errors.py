"""Everything that can go wrong, said to the person at the robot: what, where, what to do.

Each class is one thing a caller may want to tell apart. The message is complete by itself, so that a log line, a
service reply and the command line can show ``str(error)`` and nothing else.
"""

from __future__ import annotations


class VlkngError(Exception):
    """Base of every error this package raises on purpose. ``exit_code`` is what ``vlkng`` exits with."""

    exit_code = 2


class InvalidInputError(VlkngError):
    """Something handed to us cannot be used: a pose, an image, a question, a parameter."""


class PoseError(InvalidInputError):
    """A pose with NaN, infinity or a quaternion that is not a rotation, or one in the wrong frame."""


class ImageError(InvalidInputError):
    """An image that cannot be decoded: unknown encoding, wrong size, damaged data."""


class QuestionError(InvalidInputError):
    """A question that cannot be asked: empty, or a time window that ends before it starts."""


class ConfigError(InvalidInputError):
    """A parameter outside its range or choices, or a combination that cannot work."""


class CaptionFileError(InvalidInputError):
    """A caption file that is not in the layout we read."""


class GraphFileError(InvalidInputError):
    """A node-link file that is not a memory as ``vlkng export`` writes it."""


class RecordingError(InvalidInputError):
    """A recording of perception that cannot be read or written; the message names the line."""


class BagError(InvalidInputError):
    """A bag that cannot be read, or that lacks the topics we need."""


class MemoryFileError(VlkngError):
    """The database cannot be used; the file is left as it was."""


class MemoryNotFoundError(MemoryFileError):
    """There is no memory at this path."""


class NotAMemoryError(MemoryFileError):
    """The file exists and is not a memory of ours."""


class SchemaVersionError(MemoryFileError):
    """The memory was written by a newer version of this package."""


class MemoryLockedError(MemoryFileError):
    """Another process is writing to this memory."""


class MemoryDamagedError(MemoryFileError):
    """The database fails its integrity check."""


class StorageFullError(MemoryFileError):
    """The disk is full or the folder is read-only; what was acknowledged is safe."""


class NotInMemoryError(VlkngError):
    """A keyframe, entity, session or view that this memory does not hold."""


class ModelError(VlkngError):
    """A model cannot be loaded or run."""


class ModelNotFoundError(ModelError):
    """Weights that are not on this machine; the message names the command that brings them."""


class ModelOutputError(ModelError):
    """A model answered something that is not what was asked for, and repair failed."""


class ModelUnavailableError(ModelError):
    """A model cannot answer now (server down, rate limit, no memory); the same frames can be tried again later."""


class WorkerError(ModelError):
    """The perception worker died, hung past its time-out, or cannot be started."""


class NavigationError(VlkngError):
    """A goal cannot be sent or reached."""
