import pytest

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
