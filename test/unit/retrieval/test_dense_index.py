import numpy as np
import pytest

from vlkng_ros.memory import dense_index
from vlkng_ros.memory.dense_index import DenseIndex


def unit(rows: int, seed: int, dimensions: int = 384) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_few_vectors_are_all_compared() -> None:
    index = DenseIndex(384)
    vectors = unit(100, 0)
    index.append(vectors[:60])
    index.append(vectors[60:])
    slots, cosines = index.similar(vectors[[7]], 50)
    assert slots.tolist() == list(range(50))
    assert np.argmax(cosines[0]) == 7
    np.testing.assert_allclose(cosines[0], vectors[:50] @ vectors[7], rtol=1e-5)


def test_texts_that_are_not_named_are_left_out() -> None:
    index = DenseIndex(384)
    index.append(unit(10, 0))
    assert index.similar(unit(1, 1), 10, np.array([2, 5]))[0].tolist() == [2, 5]


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> tuple[DenseIndex, np.ndarray]:
    monkeypatch.setattr(dense_index, "EXACT", 500)
    monkeypatch.setattr(dense_index, "FIRST_SHORTLIST", 1200)
    monkeypatch.setattr(dense_index, "SHORTLIST", 300)
    centres = unit(50, 3)
    vectors = np.repeat(centres, 100, axis=0) + 0.7 / np.sqrt(384) * np.random.default_rng(4).normal(size=(5000, 384))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    vectors = vectors[np.random.default_rng(5).permutation(5000)]
    index = DenseIndex(384)
    index.append(vectors)
    return index, vectors


def test_sign_codes_find_nearly_all_of_the_nearest_twenty(many: tuple[DenseIndex, np.ndarray]) -> None:
    index, vectors = many
    found = 0
    for query in unit(50, 3):
        nearest = set(np.argsort(-(vectors @ query))[:20].tolist())
        slots, _ = index.similar(query[None, :], 5000)
        assert len(slots) == 300
        found += len(nearest & set(slots.tolist()))
    assert found >= 0.95 * 20 * 50


def test_what_follows_does_not_change_what_is_found(many: tuple[DenseIndex, np.ndarray]) -> None:
    index, vectors = many
    earlier = DenseIndex(384)
    earlier.append(vectors[:2000])
    for query in unit(10, 6):
        a, b = index.similar(query[None, :], 2000), earlier.similar(query[None, :], 2000)
        assert a[0].tolist() == b[0].tolist()
        assert a[1].tolist() == b[1].tolist()


def test_bits_are_counted_without_the_function_of_numpy_2(monkeypatch: pytest.MonkeyPatch) -> None:
    words = np.array([0, 1, 2**64 - 1, 0xF0F0], dtype=np.uint64)
    expected = [0, 1, 64, 8]
    assert dense_index._ones(words).tolist() == expected
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert dense_index._ones(words).tolist() == expected
