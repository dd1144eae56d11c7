import importlib.util

import numpy as np
import pytest

from vlkng_ros.errors import ImageError, InvalidInputError
from vlkng_ros.gallery import photographs
from vlkng_ros.gallery.photographs import CATALOGUE, load_photograph, photograph


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_photograph_is_installed_with_the_size_that_its_truth_is_written_for(name: str) -> None:
    known, image = CATALOGUE[name], load_photograph(name)
    assert image.shape == (known.height_px, known.width_px, 3)
    assert image.dtype == np.uint8
    for region in known.regions:
        x1, y1, x2, y2 = region.box_px
        assert 0 <= x1 < x2 <= known.width_px
        assert 0 <= y1 < y2 <= known.height_px


def test_colours_are_in_the_order_red_green_blue() -> None:
    # The motorcycle is red, and its tank fills this spot.
    red, green, blue = load_photograph("motorcycle")[200:215, 430:460].mean(axis=(0, 1))
    assert red > 1.5 * green
    assert red > 1.5 * blue


def test_a_shared_photograph_cannot_be_drawn_on() -> None:
    with pytest.raises(ValueError, match="read-only"):
        load_photograph("coffee")[0, 0] = 0


@pytest.mark.usefixtures("empty_cache")
def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImageError, match=r"'skimage' is not installed.*pip install 'vlkng_ros\[demo\]'"):
        load_photograph("coffee")


@pytest.mark.usefixtures("empty_cache")
def test_a_damaged_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(photographs.Path, "read_bytes", lambda self: b"not a picture")
    with pytest.raises(ImageError, match=r"coffee\.png is missing or damaged"):
        load_photograph("coffee")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match=r"no photograph 'mona lisa'.*coffee, chelsea"):
        photograph("mona lisa")


def test_a_card_stands_for_any_label() -> None:
    card = photograph("card:potted plant")
    assert [region.label for region in card.regions] == ["potted plant"]
    assert load_photograph("card:potted plant").shape == (card.height_px, card.width_px, 3)
    assert not np.array_equal(load_photograph("card:chair"), load_photograph("card:vase"))


@pytest.fixture
def empty_cache():
    load_photograph.cache_clear()
    yield
    load_photograph.cache_clear()
