"""What captions tell of, added to perceptions: by rules, by a model on a server, and by rules when that fails."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from model_server import ModelServer, break_off, hang, running_server, say, send

from vlkng_ros.config import PerceptionConfig
from vlkng_ros.errors import ConfigError, ModelOutputError
from vlkng_ros.perception.base import Frame, NoPerception
from vlkng_ros.perception.caption_model import parse_reply
from vlkng_ros.perception.completed import Completed
from vlkng_ros.perception.perception_json import perception_from_json, perception_to_json
from vlkng_ros.perception.told import RETRY_S, Teller
from vlkng_ros.types import Detection, EntityKind, Perception, RelationMention

CAPTION = "A woman in a red coat reads a book on a bench."
SAID = Perception(CAPTION, (Detection("bench", (1.0, 2.0, 30.0, 40.0)), Detection("book"), Detection("book")))


def entity(name: str, kind: str, captions: object = (1,), **attributes: object) -> dict[str, object]:
    return {"name": name, "type": kind, "captions": list(captions), "attributes": attributes}  # type: ignore[call-overload]


GOOD = {
    "entities": [
        entity("woman", "person", appearance="red coat"),
        entity("book", "object"),
        entity("bench", "object"),
        entity("reading book", "event", subject="woman", object="book"),
    ],
    "relations": [
        {"subject": "woman", "predicate": "takes part in", "object": "reading book", "captions": [1]},
        {"subject": "woman", "predicate": "sitting on", "object": "bench", "captions": [1]},
    ],
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running_server() as told:
        yield told


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def labels(said: Perception) -> list[str]:
    return [detection.label for detection in said.detections]


def relations(said: Perception) -> set[tuple[str, str, str]]:
    return {(labels(said)[r.subject], r.predicate, labels(said)[r.object]) for r in said.relations}


def by_model(server: ModelServer, clock: Clock | None = None) -> Teller:
    config = PerceptionConfig(captions="llm", captions_url=server.url, captions_model="tiny")
    return Teller(config, clock or Clock())


def test_by_rules_a_thing_that_was_detected_once_is_that_detection() -> None:
    (said,) = Teller(PerceptionConfig()).tell([SAID], 10.0)
    assert labels(said) == ["bench", "book", "book", "woman", "coat", "book", "reading book"]
    assert [detection.told for detection in said.detections] == [False] * 3 + [True] * 4
    assert said.relations[-1] == RelationMention(6, "takes place at", 0)


def test_what_was_told_once_is_not_told_again_and_none_tells_nothing() -> None:
    teller = Teller(PerceptionConfig())
    (said,) = teller.tell([SAID], 10.0)
    assert teller.tell([said], 10.0) == [said]
    assert Teller(PerceptionConfig(captions="none")).tell([SAID], 10.0) == [SAID]


def test_it_survives_the_way_out_of_the_workers_process() -> None:
    (said,) = Teller(PerceptionConfig()).tell([SAID], 10.0)
    assert perception_from_json(json.loads(json.dumps(perception_to_json(said)))) == said


def test_a_relation_that_the_model_of_pictures_gave_is_kept() -> None:
    seen = Perception("A cup on a table.", (Detection("cup"), Detection("table")), (RelationMention(0, "left of", 1),))
    (said,) = Teller(PerceptionConfig()).tell([seen], 10.0)
    assert relations(said) == {("cup", "left of", "table")}


def test_by_a_model_the_captions_of_a_batch_are_one_request(server: ModelServer) -> None:
    both = json.loads(json.dumps(GOOD).replace("[1]", "[1, 2]"))
    both["entities"].append(entity("cat", "object", [2]))
    server.will(say(json.dumps(both)))
    teller = by_model(server)
    first, empty, second = teller.tell([SAID, Perception(), replace(SAID, caption=f"{CAPTION} A cat.")], 10.0)
    assert len(server.requests) == 1
    assert server.requests[0]["response_format"]["type"] == "json_schema"
    assert f"2. {CAPTION} A cat." in server.requests[0]["messages"][0]["content"]
    assert "cat" not in labels(first)
    assert labels(second)[-1] == "cat"
    assert empty == Perception()
    woman = next(detection for detection in first.detections if detection.label == "woman")
    assert (woman.kind, woman.attributes, woman.region_text) == (EntityKind.PERSON, {"appearance": "red coat"}, CAPTION)
    assert relations(first) == {("woman", "takes part in", "reading book"), ("woman", "sitting on", "bench")}
    teller.close()


def test_an_unusable_reply_is_asked_for_again_with_the_reason(server: ModelServer) -> None:
    server.will(say("Sure! I see a woman."), say(f"```json\n{json.dumps(GOOD)[:-1]}"))
    teller = by_model(server)
    (said,) = teller.tell([SAID], 10.0)
    assert "reading book" in labels(said)
    assert "cannot be used" in server.requests[1]["messages"][2]["content"]
    assert teller.counters["retried_caption_replies"] == 1
    teller.close()


@pytest.mark.parametrize("act", [say("no"), say('{"entities": 5}')])
def test_a_reply_that_cannot_be_used_costs_its_captions_and_three_in_a_row_a_pause(
    server: ModelServer, act: object
) -> None:
    server.will(act)  # type: ignore[arg-type]
    teller = by_model(server)
    for _ in range(4):
        assert "reading book" in labels(teller.tell([SAID], 10.0)[0])
    assert len(server.requests) == 3 * 2
    teller.close()


@pytest.mark.parametrize("act", [send(500), send(404), break_off])
def test_when_the_model_fails_the_rules_go_on_and_it_is_left_alone(server: ModelServer, act: object) -> None:
    server.will(act)  # type: ignore[arg-type]
    clock = Clock()
    teller = by_model(server, clock)
    (said,) = teller.tell([SAID], 10.0)
    assert "reading book" in labels(said)
    asked = len(server.requests)
    teller.tell([SAID], 10.0)
    assert len(server.requests) == asked
    assert teller.counters["captions_by_rules"] == 2
    clock.now = RETRY_S + 1
    server.will(say(json.dumps(GOOD)))
    assert ("woman", "sitting on", "bench") in relations(teller.tell([SAID], 10.0)[0])
    teller.close()


def test_a_model_that_hangs_costs_no_more_than_what_is_left(server: ModelServer) -> None:
    server.will(hang)
    teller = by_model(server)
    assert "reading book" in labels(teller.tell([SAID], 1.0)[0])
    assert len(server.requests) == 1
    teller.close()


def test_without_time_the_model_is_not_asked(server: ModelServer) -> None:
    teller = by_model(server)
    assert "reading book" in labels(teller.tell([SAID], 0.5)[0])
    assert server.requests == []
    teller.close()


def test_what_is_not_in_the_caption_is_not_believed() -> None:
    injected = {
        "entities": [
            *GOOD["entities"],
            entity("fire", "object"),
            entity("woman", "boss"),
            entity("coat", "object", [7]),
            "x",
            entity("bench", "object", [1], note=5, **{"x" * 500: "y" * 5000}),
        ],
        "relations": [{"subject": "fire", "predicate": "on", "object": "bench", "captions": [1]}, 7],
    }
    counters: Counter[str] = Counter()
    (told,) = parse_reply(json.dumps(injected), [CAPTION], counters)
    assert [thing.label for thing in told.things] == ["woman", "book", "bench", "reading book"]
    assert told.relations == ()
    assert (counters["untold_names"], counters["unusable_told"]) == (1, 5)


@pytest.mark.parametrize("reply", ['{"entities": {}}', '{"entities": [{"name": "dragon"}]}', "[]", ""])
def test_a_reply_of_which_nothing_is_usable_is_refused(reply: str) -> None:
    with pytest.raises(ModelOutputError):
        parse_reply(reply, [CAPTION], Counter())


def test_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"perception\.captions_model is empty"):
        Teller(PerceptionConfig(captions="llm"))


def test_the_worker_gets_perceptions_with_what_their_captions_tell() -> None:
    class Captioning(NoPerception):
        def describe(self, frames: object) -> list[Perception]:
            return [SAID]

    backend = Completed(Captioning(), teller=Teller(PerceptionConfig()))
    (said,) = backend.describe([Frame(1, 1, np.zeros((4, 4, 3), np.uint8))])
    assert "reading book" in labels(said)
    backend.close()
