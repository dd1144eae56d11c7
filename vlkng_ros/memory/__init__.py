"""What the robot remembers: one writer, any number of readers that follow it."""

from vlkng_ros.memory.reader import MemoryReader
from vlkng_ros.memory.rows import (
    Appearance,
    Changes,
    Crop,
    ForgetSummary,
    History,
    HistoryEntry,
    KeyframeTable,
    MemoryStats,
    Mention,
    MentionTable,
    Session,
    Span,
    StoredText,
)
from vlkng_ros.memory.text_encoder import open_encoder
from vlkng_ros.memory.writer import MemoryWriter

__all__ = [
    "Appearance",
    "Changes",
    "Crop",
    "ForgetSummary",
    "History",
    "HistoryEntry",
    "KeyframeTable",
    "MemoryReader",
    "MemoryStats",
    "MemoryWriter",
    "Mention",
    "MentionTable",
    "Session",
    "Span",
    "StoredText",
    "open_encoder",
]
