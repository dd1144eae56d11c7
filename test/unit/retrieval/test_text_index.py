import math

import numpy as np
import pytest
from captioned_drives import WordEncoder
from hypothesis import given, settings
from hypothesis import strategies as st
from mention_rows import MentionRow, add_mentions

from vlkng_ros.memory.mention_columns import MentionColumns
from vlkng_ros.memory.text_index import TextIndex

SECOND = 1_000_000_000


def index_of(frames: list[list[str]], encoder: WordEncoder | None = None) -> TextIndex:
    """Frame ``i``, at second ``i``, says ``frames[i]``; equal texts are one."""
    index = TextIndex(encoder.dimensions if encoder else 0)
    numbers = {text: i for i, text in enumerate(dict.fromkeys(t for said in frames for t in said), start=1)}
    texts = {n: (t, encoder.encode([t])[0] if encoder else None) for t, n in numbers.items()}
    index.add_frames(np.arange(1, len(frames) + 1), np.arange(len(frames), dtype=np.int64) * SECOND)
    rows = [MentionRow(i, numbers[text], True) for i, said in enumerate(frames, start=1) for text in said]
    add_mentions(index, rows, texts)
    return index


def scores(index: TextIndex, terms: list[str], as_of_s: int | None = None) -> dict[str, float]:
    cut = index.cut(None, None if as_of_s is None else as_of_s * SECOND)
    slots, found = index.bm25(terms, cut)
    return {index.texts[slot]: round(float(score), 4) for slot, score in zip(slots, found, strict=True)}


def test_bm25_is_cut_at_as_of_as_worked_out_by_hand() -> None:
    index = index_of([["red door"], ["blue door"], ["red hydrant"]])
    # After the second frame: N = 2, df(red) = 1, df(door) = 2, every length is the mean, so tf counts 1.
    red, door = math.log(1 + 1.5 / 1.5), math.log(1 + 0.5 / 2.5)
    assert scores(index, ["red", "door"], 1) == {"red door": round(red + door, 4), "blue door": round(door, 4)}
    # After the third: N = 3, df(red) = df(door) = 2.
    both = math.log(1 + 1.5 / 2.5)
    assert scores(index, ["red", "door"]) == {
        "red door": round(2 * both, 4),
        "blue door": round(both, 4),
        "red hydrant": round(both, 4),
    }


def test_length_is_weighed_against_the_mean_known_then() -> None:
    index = index_of([["door"], ["red door by a wooden wall"]])
    # Lengths 1 and 4 (red, door, wooden, wall), mean 2.5; k1 = 0.4, b = 0.75; N = df = 2.
    idf = math.log(1 + 0.5 / 2.5)
    short = idf * 1.4 / (1 + 0.4 * (0.25 + 0.75 * 1 / 2.5))
    long = idf * 1.4 / (1 + 0.4 * (0.25 + 0.75 * 4 / 2.5))
    assert scores(index, ["door"]) == {"door": round(short, 4), "red door by a wooden wall": round(long, 4)}
    # Alone, the label has the mean length.
    assert scores(index, ["door"], 0) == {"door": round(math.log(1 + 0.5 / 1.5), 4)}


def test_a_text_said_twice_is_one_document() -> None:
    index = index_of([["red door"], ["red door"], ["red door"]])
    cut = index.cut()
    assert cut.slots == 1
    assert index.document_frequency("door", cut) == 1


def test_a_denied_thing_has_no_posting() -> None:
    index = index_of([["There are no cars visible."], ["a car"]])
    found = index.postings("car", index.cut())
    assert [index.texts[slot] for slot in found.slots] == ["a car"]
    assert [index.texts[slot] for slot in found.denied] == ["There are no cars visible."]


def test_what_comes_out_of_order_is_refused() -> None:
    index = index_of([["a"], ["b"]])
    with pytest.raises(ValueError, match="not later"):
        index.add_frames(np.array([9]), np.array([0]))
    with pytest.raises(ValueError, match="before the last one mentioned"):
        add_mentions(index, [MentionRow(1, 1, True)], {})


FRAMES = st.lists(
    st.lists(st.sampled_from(["red door", "blue door", "a door", "red car", "no cars here", "tall tree"]), max_size=3),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(FRAMES, st.integers(0, 11), st.integers(0, 11))
def test_a_cut_index_is_the_index_of_the_frames_up_to_then(frames: list[list[str]], end: int, start: int) -> None:
    end = min(end, len(frames) - 1)
    whole, part = index_of(frames, WordEncoder()), index_of(frames[: end + 1], WordEncoder())
    since = min(start, end) * SECOND
    cut, same = whole.cut(since, end * SECOND), part.cut(since)
    assert cut == same
    for term in ("red", "door", "car", "tree"):
        assert whole.document_frequency(term, cut) == part.document_frequency(term, same)
        for a, b in zip(whole.postings(term, cut), part.postings(term, same), strict=True):
            assert a.tolist() == b.tolist()
    for a, b in zip(whole.bm25(["red", "door"], cut), part.bm25(["red", "door"], same), strict=True):
        assert a.tolist() == b.tolist()
    slots = np.arange(cut.slots)
    assert whole.mentioned(slots, cut).tolist() == part.mentioned(slots, same).tolist()
    for a, b in zip(whole.mentions_of(slots, cut, 5), part.mentions_of(slots, same, 5), strict=True):
        assert a.tolist() == b.tolist()


def test_mentions_are_found_through_the_inverted_list_as_in_a_scan() -> None:
    frames = [["red door"] if i % 3 else ["a car", "red door"] for i in range(100)]
    index = index_of(frames)
    cut = index.cut(4 * SECOND, 80 * SECOND)
    slots = np.arange(cut.slots)
    scanned = sorted(zip(*(part.tolist() for part in index.mentions_of(slots, cut, 1000)), strict=True))
    for sort in (lambda: None, index._mentions._merge):  # the last few, and those that were sorted in
        sort()
        inverted = sorted(zip(*(part.tolist() for part in index.mentions_of(slots, cut, 64)), strict=True))
        assert set(inverted) <= set(scanned)
        # Of 102 mentions, more than 64, 16 are returned, and of a text 8: 2 of its first and 6 of its latest frames.
        assert [frame for frame, rank in inverted if rank == 0] == [6, 9, *range(63, 79, 3)]
        assert [frame for frame, rank in inverted if rank == 1] == [4, 5, *range(75, 81)]


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), min_size=2, max_size=60),
    st.integers(0, 59), st.integers(0, 59), st.integers(0, 59), st.integers(1, 40),
)  # fmt: skip
def test_what_is_found_of_a_text_does_not_depend_on_what_was_sorted_in(
    frames: list[list[int]], one: int, other: int, merged: int, limit: int
) -> None:
    numbers: dict[int, int] = {}  # in order of first mention
    said = [(frame, numbers.setdefault(n, len(numbers))) for frame, said_of in enumerate(frames) for n in said_of]
    columns = [MentionColumns(), MentionColumns()]
    for held, until in zip(columns, (0, min(merged, len(said) - 1)), strict=True):
        for part in (said[:until], said[until:]):
            frame, slot = np.array(part, dtype=np.int32).reshape(-1, 2).T
            held.extend(slot, frame, np.zeros(len(part), dtype=np.bool_), len(numbers))
            if part is not said[until:]:
                held._merge()
    whole, kept = columns[0], [row for row in range(len(said)) if row % 3]
    whole.drop(np.flatnonzero(np.arange(len(said)) % 3 == 0))
    made = MentionColumns()
    frame, slot = np.array([said[row] for row in kept], dtype=np.int32).reshape(-1, 2).T
    made.extend(slot, frame, np.zeros(len(kept), dtype=np.bool_), len(numbers))
    every_slot, end = np.arange(len(numbers)), len(frames)
    for first, last in ((0, end), (min(one, end), end)):
        assert whole.said_of(every_slot, first, last).tolist() == made.said_of(every_slot, first, last).tolist()
        found = [held.of(every_slot, first, last, *held.bounds(first, last), None) for held in (whole, made)]
        assert [a.tolist() for a in found[0]] == [b.tolist() for b in found[1]]
    assert (whole.unsaid, len(whole)) == (made.unsaid, len(made))
    columns[0] = MentionColumns()
    frame, slot = np.array(said, dtype=np.int32).reshape(-1, 2).T
    columns[0].extend(slot, frame, np.zeros(len(said), dtype=np.bool_), len(numbers))
    first, last = min(one, other), max(one, other) + 1
    slots = np.array([3, 0, 5, 1])[np.array([3, 0, 5, 1]) < len(numbers)]
    window = (first, last, *columns[0].bounds(first, last))
    found = [held.of(slots, *window, limit) for held in columns]
    assert [a.tolist() for a in found[0]] == [b.tolist() for b in found[1]]
    every = [held.of(slots, *window, None) for held in columns]
    assert [a.tolist() for a in every[0]] == [b.tolist() for b in every[1]]
    in_window = [[f for f, s in said if s == slot and first <= f < last] for slot in slots.tolist()]
    for rank, mentioned in enumerate(in_window):
        mine = found[0][0][found[0][1] == rank].tolist()
        assert len(mine) <= len(mentioned)
        assert set(mine) <= set(mentioned)
        assert mine == mentioned or len(found[0][0]) <= limit
        assert every[0][0][every[0][1] == rank].tolist() == mentioned
    assert columns[1].said_of(slots, first, last).tolist() == [bool(mentioned) for mentioned in in_window]
