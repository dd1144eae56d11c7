"""From evidence to an answer: by rule from what was seen, or by a language model over it."""

from vlkng_ros.answering.ask import MemoryQuery

__all__ = ["MemoryQuery"]
