from vlkng_ros.config import RetrievalConfig
from vlkng_ros.evaluation.ablations import configurations


def test_presets_share_everything_but_their_name() -> None:
    found = configurations(RetrievalConfig(max_keyframes=7), ["hybrid", "vgent", "hybrid"])
    assert {name: (c.preset, c.max_keyframes, c.answerer) for name, c in found.items()} == {
        "hybrid": ("hybrid", 7, "extractive"),
        "vgent": ("vgent", 7, "extractive"),
    }


def test_with_a_model_each_paper_answers_its_way() -> None:
    found = configurations(RetrievalConfig(), ["vgent", "embodied-lgr", "egograph"], as_papers=True)
    assert [config.answerer for config in found.values()] == ["structured", "agent", "llm"]


def test_ablations_are_the_graphs_and_every_channel_alone_and_left_out() -> None:
    found = configurations(RetrievalConfig(), ["vgent"], ablations=True)
    assert len(found) == 1 + 5 + 12
    assert [found[name].preset for name in ("vlkng-full", "vlkng-cwgr", "lexical alone")] == [
        "vlkng-full",
        "vlkng-cwgr",
        "hybrid",
    ]
    assert found["lexical alone"].channels == "lexical"
    assert found["without temporal"].channels == "lexical,dense,visual,spatial,relations"
