"""The associators by name: in the registry, the configuration, the README and the retrieval presets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vlkng_ros.config import AssociationConfig, parameters_of
from vlkng_ros.errors import ConfigError
from vlkng_ros.memory.association.registry import associator_names, open_associator, open_associators
from vlkng_ros.retrieval.presets import VIEWS

README = (Path(__file__).resolve().parents[3] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", associator_names())
def test_each_writes_the_view_of_its_name(name: str) -> None:
    assert open_associator(AssociationConfig(), name).view == name


def test_every_presets_view_has_an_associator() -> None:
    assert set(VIEWS.values()) == set(associator_names())


def test_the_readme_names_them_all() -> None:
    section = README.split("### What is the same thing\n")[1].split("\n##")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == associator_names()


def test_hybrid_is_the_default_and_only_stoa_waits_for_others() -> None:
    choices = parameters_of(AssociationConfig)["associator"].choices
    assert AssociationConfig().associator == "hybrid"
    assert set(associator_names()) - set(choices or ()) == {"stoa"}


def test_further_views_are_written_beside_the_first() -> None:
    config = AssociationConfig(others="proximity, text_merge")
    assert [a.view for a in open_associators(config)] == ["hybrid", "proximity", "text_merge"]


@pytest.mark.parametrize(
    ("others", "message"),
    [("hybrid", "names one twice"), ("proximity,proximity", "names one twice"), ("magic", "not one of hybrid")],
)
def test_names_that_are_unknown_or_given_twice_are_refused(others: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_associators(AssociationConfig(others=others))
