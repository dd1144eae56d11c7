"""Parts of speech and singulars, by TextBlob's tagger: its lexicon is in the package, no model and no download."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import sys
import types
import warnings
from functools import lru_cache
from typing import Any

Tag = tuple[str, str]
"""A word and its part of speech (Penn Treebank)."""

_log = logging.getLogger(__name__)


def tagged(sentence: str) -> list[Tag]:
    """The words of a sentence; none where TextBlob is not installed. The lexicon is read at the first."""
    language = _english()
    if language is None:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its lexicon's file to the collector
        parsed = str(language.parse(sentence, chunks=False))
    return [(word.replace("&slash;", "/"), tag) for word, _, tag in (w.rpartition("/") for w in parsed.split())]


def singular(word: str) -> str:
    """The singular of a plural noun."""
    return word if _english() is None else str(importlib.import_module("textblob.en.inflect").singularize(word))


@lru_cache(maxsize=1)
def _english() -> Any:
    """TextBlob's module for English, None where it is not installed."""
    found = importlib.util.find_spec("textblob")
    if found is None:
        _log.warning("captions are not taken apart: TextBlob is not installed; pip install textblob brings it")
        return None
    if "textblob" in sys.modules:
        return importlib.import_module("textblob.en")
    # The package itself imports NLTK, and that SciPy and scikit-learn where they are: 4 s and 135 MB, for a tagger that
    # is in two files of TextBlob's own. So these are imported as if the package's __init__ were empty.
    package = types.ModuleType("textblob")
    package.__path__ = list(found.submodule_search_locations or ())
    sys.modules["textblob"] = package
    try:
        importlib.import_module("textblob.en.inflect")
        return sys.modules["textblob.en"]
    finally:
        del sys.modules["textblob"]
