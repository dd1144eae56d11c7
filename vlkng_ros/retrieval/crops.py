"""The visual channel: a question's words against the embeddings of everything that was boxed (VL-KnG's GER, 6.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlkng_ros.memory import MemoryReader
from vlkng_ros.memory.dense_index import DenseIndex
from vlkng_ros.memory.text_index import TextIndex
from vlkng_ros.retrieval.retriever import Scene
from vlkng_ros.types import TextEncoder


class CropIndex:
    """Crop vectors of one memory, in RAM as float16, of many the nearest by sign codes. Use from the reader's thread.

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
        self._stamps_ns: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._vectors = DenseIndex(encoder.dimensions, np.float16)

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
        if not len(scene):
            return []
        among = None
        if len(scene) < len(index.keyframe_ids):
            inside = (self._stamps_ns >= scene.stamps_ns[0]) & (self._stamps_ns <= scene.stamps_ns[-1])
            among = np.flatnonzero(inside)
        rows, (cosines,) = self._vectors.similar(self._encoder.encode([phrase]), len(self._observations), among)
        found: list[tuple[int, int, float]] = []
        for at in np.argsort(-cosines, kind="stable").tolist():
            if len(found) == top:
                break
            row = int(rows[at])
            keyframe_id = int(self._keyframes[row])
            frame = index.frame_of(keyframe_id)
            if frame is None or not scene.cut.first <= frame < scene.cut.last:
                continue
            observation = int(self._observations[row])
            # What was forgotten since it was read must not be found.
            if all(o.observation_id != observation for o in self._reader.observations(keyframe_id)):
                continue
            found.append((frame - scene.cut.first, observation, float(cosines[at])))
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
            self._stamps_ns = np.append(self._stamps_ns, [crop.stamp_ns for crop in usable])
            self._vectors.append(np.stack([crop.vector for crop in usable]))
