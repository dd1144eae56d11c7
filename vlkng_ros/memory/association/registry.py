"""The associators by name: what the configuration's ``association.associator`` means."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vlkng_ros.config import AssociationConfig
from vlkng_ros.errors import ConfigError
from vlkng_ros.memory.association.base import Associator


def open_associator(config: AssociationConfig, name: str = "") -> Associator:
    """The configured associator, or another one by name with the same thresholds.

    Raises:
        ConfigError: there is none of this name.
    """
    name = name or config.associator
    opener = _OPENERS.get(name)
    if opener is None:
        raise ConfigError(f"associator '{name}': not one of {', '.join(_OPENERS)}")
    return opener(config)


def open_associators(config: AssociationConfig) -> list[Associator]:
    """The configured associator and the others that write their views beside it.

    Raises:
        ConfigError: there is none of a name, or one is named twice.
    """
    names = [config.associator, *(name.strip() for name in config.others.split(",") if name.strip())]
    if len(set(names)) != len(names):
        raise ConfigError(f"association.others '{config.others}': names one twice, or association.associator again")
    return [open_associator(config, name) for name in names]


def associator_names() -> tuple[str, ...]:
    """What ``open_associator`` knows."""
    return tuple(_OPENERS)


def _proximity(config: AssociationConfig) -> Associator:
    from vlkng_ros.memory.association.proximity import ProximityAssociator

    return ProximityAssociator(config.distance_m, config.cosine)


def _hybrid(config: AssociationConfig) -> Associator:
    from vlkng_ros.memory.association.hybrid import HybridAssociator

    return HybridAssociator(distance_m=config.distance_m, cosine=config.cosine)


def _stoa(config: AssociationConfig) -> Associator:
    from vlkng_ros.memory.association.stoa import StoaAssociator

    # Nobody to ask: its fall-back decides. ``vlkng associate --with stoa --llm NAME`` has a model.
    return StoaAssociator(fall_back=_proximity(config))


def _text_merge(config: AssociationConfig) -> Associator:
    from vlkng_ros.memory.association.text_merge import TextMergeAssociator

    # tau = 0.7 is Vgent's; ``association.cosine`` is EmbodiedLGR's delta_E.
    return TextMergeAssociator()


_OPENERS: Mapping[str, Callable[[AssociationConfig], Associator]] = {
    "hybrid": _hybrid,
    "proximity": _proximity,
    "stoa": _stoa,
    "text_merge": _text_merge,
}
