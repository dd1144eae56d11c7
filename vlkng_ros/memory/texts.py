"""Strings that a question can find, stored once, each with its vector by the memory's encoder."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vlkng_ros.memory.packing import pack_vector, pack_vectors, unpack_vector
from vlkng_ros.types import FloatArray, TextEncoder

MAX_CACHED = 65_536
MAX_CACHED_LENGTH = 64
"""Labels come again and again, sentences hardly: only strings up to this length keep their number in memory."""
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")


def sentences_of(caption: str) -> list[str]:
    """A caption's sentences; joined with single spaces they are the caption, its white space made single."""
    plain = " ".join(caption.split())
    return [part for part in _SENTENCE_END.split(plain) if part]


def hash_of(text: str) -> int:
    """A 64-bit number by which a string is found; the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


class Texts(NamedTuple):
    """Strings on their way into the ``text`` table."""

    numbers: dict[str, int]
    """Ids of those that are stored."""
    new: Sequence[tuple[str, bytes | None]]
    """Those that are not stored yet, each with its vector where there is an encoder."""


class TextStore:
    """The writer's side of the ``text`` table."""

    def __init__(self, connection: sqlite3.Connection, encoder: TextEncoder | None) -> None:
        self._connection = connection
        self._encoder = encoder
        self._numbers: dict[str, int] = {}

    def clear(self) -> None:
        """Forget what was looked up: after a rollback or a deletion."""
        self._numbers.clear()

    def number(self, text: str) -> int | None:
        """The id of a string, or None where it is not stored."""
        found = self._numbers.get(text)
        if found is None:
            query = "SELECT id FROM text WHERE hash = ? AND text = ?"
            row = self._connection.execute(query, (hash_of(text), text)).fetchone()
            if row is None:
                return None
            found = int(row[0])
            self._remember(text, found)
        return found

    def prepare(self, texts: Sequence[str]) -> Texts:
        """Look strings up and embed those not stored yet, outside any transaction: encoding takes milliseconds."""
        numbers, new = {}, []
        for text in dict.fromkeys(texts):
            number = self.number(text) if text else None
            if number is not None:
                numbers[text] = number
            elif text:
                new.append(text)
        if self._encoder is None or not new:
            return Texts(numbers, [(text, None) for text in new])
        return Texts(numbers, list(zip(new, pack_vectors(self._encoder.encode(new)), strict=True)))

    def add(self, texts: Texts, last_id: int, encoder: int | None) -> int:
        """Store prepared strings, inside a transaction, and note their ids; returns the last id given."""
        rows, vectors = [], []
        for text, vector in texts.new:
            last_id += 1
            rows.append((last_id, hash_of(text), text))
            if vector is not None and encoder is not None:
                vectors.append((encoder, last_id, vector))
            texts.numbers[text] = last_id
            self._remember(text, last_id)
        if rows:
            self._connection.executemany("INSERT INTO text (id, hash, text) VALUES (?, ?, ?)", rows)
            insert = "INSERT INTO text_vector (encoder, text, vector) VALUES (?, ?, ?)"
            self._connection.executemany(insert, vectors)
        return last_id

    def missing(self, encoder: int | None, limit: int) -> list[tuple[int, bytes]]:
        """Ids and new vectors of stored strings that this encoder has not embedded, at most ``limit``."""
        if self._encoder is None:
            return []
        query = (
            "SELECT id, text FROM text WHERE id NOT IN (SELECT text FROM text_vector WHERE encoder = ?) "
            "ORDER BY id LIMIT ?"
        )
        rows = self._connection.execute(query, (encoder, limit)).fetchall()
        if not rows:
            return []
        vectors = self._encoder.encode([text for _, text in rows])
        return [(number, vector) for (number, _), vector in zip(rows, pack_vectors(vectors), strict=True)]

    def add_vectors(self, vectors: Sequence[tuple[int, bytes]], encoder: int | None) -> None:
        """Store vectors of strings that are there already, inside a transaction."""
        insert = "INSERT INTO text_vector (encoder, text, vector) VALUES (?, ?, ?)"
        self._connection.executemany(insert, [(encoder, number, vector) for number, vector in vectors])

    def _remember(self, text: str, number: int) -> None:
        if len(text) <= MAX_CACHED_LENGTH:
            if len(self._numbers) >= MAX_CACHED:
                self._numbers.clear()
            self._numbers[text] = number


class Vocabulary:
    """Similarity of labels. Vectors are the stored ones, so that the same memory gives the same similarities."""

    def __init__(self, connection: sqlite3.Connection, encoder: TextEncoder | None, encoder_number: int | None) -> None:
        self._connection = connection
        self._encoder = encoder
        self._encoder_number = encoder_number
        self._vectors: dict[str, FloatArray | None] = {}

    def clear(self) -> None:
        """Forget every label."""
        self._vectors.clear()

    def vector(self, label: str) -> FloatArray | None:
        """Unit vector of a label, shape ``(d,)``; None without an encoder."""
        if label not in self._vectors:
            self._vectors[label] = self._load(label)
        return self._vectors[label]

    def similarity(self, a: str, b: str) -> float:
        """Cosine of two labels; 0.0 where it cannot be known."""
        one, two = self.vector(a), self.vector(b)
        return 0.0 if one is None or two is None else float(np.dot(one, two))

    def _load(self, label: str) -> FloatArray | None:
        if self._encoder is None:
            return None
        row = self._connection.execute(
            "SELECT vector FROM text JOIN text_vector ON text_vector.text = text.id AND encoder = ? "
            "WHERE hash = ? AND text.text = ?",
            (self._encoder_number, hash_of(label), label),
        ).fetchone()
        stored = row[0] if row is not None else pack_vector(self._encoder.encode([label])[0])
        return unpack_vector(stored)
