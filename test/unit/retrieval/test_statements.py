import pytest

from vlkng_ros.memory.said import Said, Vocabulary
from vlkng_ros.memory.statements import statement


@pytest.mark.parametrize(
    ("text", "said", "denied"),
    [
        ("The lot is empty, with no cars or people visible.", ("lot", "empty"), {"car", "person"}),
        ("There are no people visible, and the sky is blue.", ("sky", "blue"), {"person"}),
        ("a street with no cars, but a bench", ("street", "bench"), {"car"}),
        ("A red fire hydrant", ("red", "fire", "hydrant"), set()),
        ("There is no car next to the red car.", ("car",), set()),
    ],
)
def test_what_is_denied_is_not_there(text: str, said: tuple[str, ...], denied: set[str]) -> None:
    found = statement(text)
    assert set(said) <= set(found.said) | found.denied
    assert found.denied >= denied - set(found.said)
    assert not denied & set(found.said)


def test_the_background_is_far() -> None:
    assert statement("In the background, there is a staircase.").far
    assert not statement("There is a staircase on the left side.").far


def test_many_texts_at_once_say_what_each_says_alone() -> None:
    texts = [
        "A red door.",
        "",
        "The lot is empty, with no cars or people visible.",
        "There is no car next to the red car.",
        "In the background, there is a staircase.",
        "no",
        "a street with no cars, but a bench's 2 x wheels",
        "The door.",
    ]
    vocabulary = Vocabulary()
    vocabulary.numbers(["known", "before"])
    for part in (texts, texts[2:3], texts[:1]):
        said = Said.of(part, vocabulary)
        ends = {"terms": said.term_counts.cumsum(), "words": said.word_counts.cumsum()}
        for row, alone in enumerate(map(statement, part)):
            terms = [vocabulary.words[n] for n in said.terms[ends["terms"][row] - said.term_counts[row] :]]
            words = [vocabulary.words[n] for n in said.words[ends["words"][row] - said.word_counts[row] :]]
            denied = {vocabulary.words[n] for n in said.denied[said.denied_rows == row]}
            assert tuple(terms[: said.term_counts[row]]) == alone.said
            assert tuple(words[: said.word_counts[row]]) == alone.words
            assert (denied, bool(said.far[row])) == (set(alone.denied), alone.far)
        assert (len(said.terms), len(said.words)) == (ends["terms"][-1], ends["words"][-1])
