from vlkng_ros.retrieval.concepts import other_wordings


def test_synonyms_take_each_others_place() -> None:
    assert "red settee" in other_wordings("red sofa")
    assert "sofa" in other_wordings("studio couch")


def test_a_kind_answers_for_the_general_word_and_not_the_other_way_round() -> None:
    assert "pickup truck" in other_wordings("truck", loose=False)
    assert other_wordings("pickup truck", loose=False) == ("pickup lorry",)
    assert "truck" in other_wordings("pickup truck")
    assert other_wordings("jacket", loose=False) == ()


def test_needs_name_what_meets_them() -> None:
    assert {"chair", "bench"} <= set(other_wordings("place to sit"))
    assert "trash can" in other_wordings("throw away a box")


def test_a_plain_thing_has_no_other_wording() -> None:
    assert other_wordings("elephant") == ()


def test_what_somebody_else_does_is_no_need() -> None:
    assert other_wordings("man sitting at a desk") == ()
    assert other_wordings("man drinking coffee") == ()
    assert "emergency phone" in other_wordings("yellow police call pole")
    assert "sofa" in other_wordings("somewhere to sit")
