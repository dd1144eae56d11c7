"""eMEM (PyPI ``emem``) on the same observations and questions, in a process of its own.

Each detection is one ``add`` with its region text, the robot's place and time, and a vector by the same encoder; each
caption one more, as eMEM has no keyframes. No language model is given to either side, so eMEM extracts no entities and
consolidates nothing: what is measured is its store.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
from clock import clocked, now
from hall import SEEN, Hall, WordVectors, places_asked, things_asked


def measure(folder: Path, made_for: int, keyframes: int) -> dict[str, float]:
    """Ingest a drive, then ask.

    Args:
        folder: where eMEM keeps its files.
        made_for: observations that the hall is made for.
        keyframes: how many of its drive are remembered.
    """
    from emem import SpatioTemporalMemory, SpatioTemporalMemoryConfig
    from emem.embeddings import CallableEmbeddingProvider

    folder.mkdir(parents=True, exist_ok=True)
    encoder = WordVectors()
    config = SpatioTemporalMemoryConfig(
        db_path=str(folder / "emem.db"),
        hnsw_path=str(folder / "emem.hnsw.bin"),
        hnsw_max_elements=2 * (SEEN + 1) * keyframes,
    )
    provider = CallableEmbeddingProvider(encoder.encode, dim=encoder.dimensions)
    spent, added = 0.0, 0
    memory = SpatioTemporalMemory(db_path=config.db_path, config=config, embedding_provider=provider)
    for capture, perception in islice(Hall(made_for).drive(), keyframes):
        x, y, z = capture.base_pose.position_m
        texts = [detection.region_text for detection in perception.detections]
        start = now()
        for text in (*texts, perception.caption):
            memory.add(text, x=x, y=y, z=z, timestamp=1.0 + capture.stamp_ns / 1e9, layer_name="detections")
        spent += now() - start
        added += len(texts)
    start = now()
    memory.save()
    spent += now() - start
    row = {"ingest_s": spent, "observations": added, "observations_a_second": added / spent}
    semantic = [lambda text=text: memory.semantic_search(text, n_results=10) for text in things_asked()]
    spatial = [
        lambda x=x, y=y: memory.spatial_query(x=x, y=y, radius=5.0, n_results=10)
        for x, y in places_asked(made_for, keyframes)
    ]
    row["semantic_ms"], row["spatial_ms"] = float(np.median(clocked(semantic))), float(np.median(clocked(spatial)))
    memory.close()
    row["bytes_an_observation"] = sum(f.stat().st_size for f in folder.iterdir() if f.is_file()) / added
    return row
