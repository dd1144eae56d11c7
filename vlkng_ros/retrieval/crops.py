"""The visual channel: a question's words against the embeddings of everything that was boxed (VL-KnG's GER, 6.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory import MemoryReader
from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.retrieval.retriever import Scene
from vlkng_ros.types import FloatArray, TextEncoder


class CropIndex:
    """Crop vectors of one memory, all in RAM as float16. Use from the reader's thread.

    Args:
        reader: the memory.
        encoder: the text tower of the model that made the vectors; those of other models are left out.
    """

    def __init__(self, reader: MemoryReader, encoder: TextEncoder) -> None:
        self._reader = reader
        self._encoder = encoder
        self._revision = -1
        self._last = 0
        self._observations: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._keyframes: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._vectors: NDArray[np.float16] = np.zeros((0, encoder.dimensions), dtype=np.float16)

    def __len__(self) -> int:
        self._follow()
        return len(self._observations)

    def best(self, phrase: str, index: TextIndex, scene: Scene, top: int) -> list[tuple[int, int, float]]:
        """The crops of a scene that look most like a phrase: ``(frame of the scene, observation, cosine)``.

        Args:
            phrase: what to look for.
            index: knows the keyframes' places in time.
            scene: the window.
            top: number of crops returned at most; best first, of equals the earlier.
        """
        self._follow()
        if not len(self._observations):
            return []
        query: FloatArray = self._encoder.encode([phrase])[0]
        cosines = self._vectors @ query.astype(np.float16)
        found: list[tuple[int, int, float]] = []
        for row in np.argsort(-cosines.astype(np.float32), kind="stable").tolist():
            if len(found) == top:
                break
            keyframe_id = int(self._keyframes[row])
            frame = index.frame_of(keyframe_id)
            if frame is None or not scene.cut.first <= frame < scene.cut.last:
                continue
            observation = int(self._observations[row])
            # What was forgotten since it was read must not be found.
            if all(o.observation_id != observation for o in self._reader.observations(keyframe_id)):
                continue
            found.append((frame - scene.cut.first, observation, float(cosines[row])))
        return found

    def _follow(self) -> None:
        if self._reader.revision == self._revision:
            return
        self._revision = self._reader.revision
        new = list(self._reader.crops(self._last))
        if not new:
            return
        self._last = new[-1].observation_id
        usable = [crop for crop in new if crop.encoder_id == self._encoder.encoder_id]
        if usable:
            self._observations = np.append(self._observations, [crop.observation_id for crop in usable])
            self._keyframes = np.append(self._keyframes, [crop.keyframe_id for crop in usable])
            rows = np.stack([crop.vector for crop in usable]).astype(np.float16)
            self._vectors = np.concatenate([self._vectors, rows])
