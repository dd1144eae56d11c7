"""What captions tell of is added to perceptions, so that EgoGraph's and Vgent's graphs need no second pass.

By rules, or by a language model on a server where one is named; while that is away, or talks nonsense, the rules go on.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ConfigError, ModelError, ModelOutputError
from vlkng_ros.perception.caption_graph import Told, graph_of
from vlkng_ros.perception.caption_model import CaptionModel
from vlkng_ros.types import Detection, EntityKind, Perception, RelationMention

RETRY_S = 30.0
"""The server is left alone for so long after it failed: frames must not wait for it one after the other."""
UNUSABLE = 3
"""As it is after so many unusable replies in a row."""
LEAST_S = 1.0
"""With less time left the model is not asked."""

_log = logging.getLogger(__name__)


class Teller:
    """Tells what captions tell of, as ``perception.captions`` says."""

    def __init__(self, config: PerceptionConfig, clock: Callable[[], float] = time.monotonic) -> None:
        """Prepares; no server is asked yet.

        Raises:
            ConfigError: ``captions`` is ``llm`` and no model is named, or a prompt cannot be used.
            ModelError: the server's address cannot be used.
        """
        self.counters: Counter[str] = Counter()
        self._on = config.captions != "none"
        self._clock = clock
        self._retry_at_s = 0.0
        self._unusable = 0
        self._model: CaptionModel | None = None
        if config.captions == "llm":
            from vlkng_ros.chat import ChatClient

            if not config.captions_model:
                raise ConfigError(
                    "perception.captions is 'llm', but perception.captions_model is empty; name a model, or use 'rules'"
                )
            client = ChatClient(config.captions_url, config.captions_model, api_key_env=config.api_key_env, attempts=1)
            try:
                self._model = CaptionModel(client, self.counters, prompts_folder=config.prompts_folder)
            except ConfigError:
                client.close()
                raise

    def tell(self, perceptions: Sequence[Perception], timeout_s: float) -> list[Perception]:
        """The perceptions, each with what its caption tells of; ``timeout_s`` bounds the model's part."""
        if not self._on:
            return list(perceptions)
        captioned = [
            i for i, said in enumerate(perceptions) if said.caption and not any(d.told for d in said.detections)
        ]
        told = self._graphs([perceptions[i].caption for i in captioned], timeout_s)
        completed = list(perceptions)
        for i, graph in zip(captioned, told, strict=True):
            completed[i] = with_told(perceptions[i], graph)
        return completed

    def warm_up(self) -> None:
        """Load what the rules need now, so that the first caption does not wait for it."""
        if self._on:
            graph_of("A robot sees.")

    def close(self) -> None:
        """Closes the connections."""
        if self._model is not None:
            self._model.close()

    def _graphs(self, captions: Sequence[str], timeout_s: float) -> list[Told]:
        if self._model is not None and captions and timeout_s >= LEAST_S and self._clock() >= self._retry_at_s:
            try:
                graphs = self._model.graphs_of(captions, timeout_s / 2)
            except ModelError as error:
                self._leave_alone(error)
            else:
                self._unusable = 0
                return graphs
        if self._model is not None:
            self.counters["captions_by_rules"] += len(captions)
        return [graph_of(caption) for caption in captions]

    def _leave_alone(self, error: ModelError) -> None:
        """One reply that cannot be used costs its captions alone; a server that is away, all for a while."""
        self._unusable += isinstance(error, ModelOutputError)
        if isinstance(error, ModelOutputError) and self._unusable < UNUSABLE:
            _log.info("captions taken apart by rules: %s", error)
            return
        self._unusable = 0
        self._retry_at_s = self._clock() + RETRY_S
        _log.warning("captions are taken apart by rules for %g s: %s", RETRY_S, error)


def with_told(said: Perception, told: Told) -> Perception:
    """A perception with what its caption tells of, after what was seen.

    A thing of which exactly one was detected is that detection: it has a box and a place already, and relations are
    the detection's.
    """
    detections, relations = list(said.detections), list(said.relations)
    index: list[int] = []
    for thing in told.things:
        seen = _seen(thing, said.detections)
        if seen is None:
            seen = len(detections)
            detections.append(thing)
        index.append(seen)
    known = {(relation.subject, relation.object) for relation in relations}
    for relation in told.relations:
        subject, target = index[relation.subject], index[relation.object]
        if subject != target and (subject, target) not in known:
            relations.append(RelationMention(subject, relation.predicate, target))
    return replace(said, detections=tuple(detections), relations=tuple(dict.fromkeys(relations)))


def _seen(thing: Detection, detections: Sequence[Detection]) -> int | None:
    if thing.kind is EntityKind.EVENT:
        return None
    head = thing.label.rpartition(" ")[2]
    alike = [i for i, seen in enumerate(detections) if seen.label.casefold() in (thing.label, head)]
    return alike[0] if len(alike) == 1 else None
