import datetime as dt

import pytest

from vlkng_ros.retrieval.time_phrases import TimeRule, Window, find_time_phrases, resolve

UTC = dt.timezone.utc
NOW = dt.datetime(2026, 5, 20, 15, 30, tzinfo=UTC)
FIRST = dt.datetime(2026, 5, 18, 9, 0, tzinfo=UTC)


def ns(day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    return round(dt.datetime(2026, 5, day, hour, minute, second, tzinfo=UTC).timestamp() * 1e9)


def window(question: str) -> Window:
    phrases, _ = find_time_phrases(question)
    assert len(phrases) == 1, phrases
    return resolve(phrases[0], round(NOW.timestamp() * 1e9), round(FIRST.timestamp() * 1e9), UTC)


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("did you see it yesterday", ns(19), ns(20)),
        ("did you see it this morning", ns(20, 5), ns(20, 12)),
        ("did you see it yesterday evening", ns(19, 17), ns(19, 23)),
        ("did you see it last night", ns(19, 20), ns(20, 6)),
        ("did you see it today", ns(20), ns(20, 15, 30)),
        ("did you see it in the last 10 minutes", ns(20, 15, 20), ns(20, 15, 30)),
        ("did you see it between 10 and 11", ns(20, 10), ns(20, 11)),
        ("did you see it between 9:15 and 10:45", ns(20, 9, 15), ns(20, 10, 45)),
        ("did you see it between 1 and 2", ns(20, 13), ns(20, 14)),
        ("did you see it before 10 am", ns(18, 9), ns(20, 10)),
        ("did you see it after 14:00", ns(20, 14), ns(20, 15, 30)),
        ("did you see it after 6 pm", ns(19, 18), ns(20, 15, 30)),
        ("did you see it on day2", ns(19), ns(20)),
        ("did you see it before 16:00", ns(18, 9), ns(20, 15, 30)),  # all that came so far
        ("did you see it on 19 may 2026", ns(19), ns(20)),
        ("did you see it on the 19th of may", ns(19), ns(20)),
        ("did you see it on may 19, 2026", ns(19), ns(20)),
        ("did you see it on 2026-05-20", ns(20), ns(20, 15, 30)),
        ("did you see it on monday", ns(18), ns(19)),
        ("did you see it on wednesday", ns(20), ns(20, 15, 30)),
        ("did you see it on thursday", ns(14), ns(15)),
        ("did you see it last wednesday", ns(13), ns(14)),
        ("did you see it more than 10 minutes ago", ns(18, 9), ns(20, 15, 20)),
        ("did you see it at least 10 minutes ago", ns(18, 9), ns(20, 15, 20)),
        ("did you see it less than half an hour ago", ns(20, 15), ns(20, 15, 30)),
        ("did you see it no more than 10 minutes ago", ns(20, 15, 20), ns(20, 15, 30)),
        ("did you see it before noon", ns(18, 9), ns(20, 12)),
        ("did you see it between noon and 1", ns(20, 12), ns(20, 13)),
        ("did you see it between 10 pm and midnight", ns(19, 22), ns(20)),
        ("did you see it this week", ns(18), ns(20, 15, 30)),
        ("did you see it last week", ns(11), ns(18)),
        ("did you see it on the weekend", ns(16), ns(18)),
    ],
)
def test_windows(question: str, since: int, until: int) -> None:
    found = window(question)
    assert (found.since_ns, found.until_ns) == (since, until)


@pytest.mark.parametrize(
    ("question", "moment"),
    [
        ("where were you 2 hours ago", ns(20, 13, 30)),
        ("where were you half an hour ago", ns(20, 15, 0)),
        ("where were you at 10:15", ns(20, 10, 15)),
        ("where were you at [day2 10:15:30]", ns(19, 10, 15, 30)),
        ("where were you at noon", ns(20, 12)),
        ("where were you at midnight", ns(20)),
        ("where were you around 6 pm", ns(19, 18)),
    ],
)
def test_moments(question: str, moment: int) -> None:
    found = window(question)
    assert found.moment_ns == moment
    assert found.since_ns <= moment <= found.until_ns


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("did you see it yesterday at 9:15", ns(19, 9, 14), ns(19, 9, 16)),
        ("did you see it at 1:30 yesterday", ns(19, 13, 29), ns(19, 13, 31)),
        ("did you see it around 9:30 yesterday evening", ns(19, 21, 15), ns(19, 21, 45)),
        ("did you see it last night at 2 am", ns(20, 1, 59), ns(20, 2, 1)),
        ("did you see it on monday between 1 and 2", ns(18, 13), ns(18, 14)),
        ("did you see it at noon on may 19, 2026", ns(19, 11), ns(19, 13)),
        ("did you see it before 10 am yesterday", ns(18, 9), ns(19, 10)),
        ("did you see it yesterday after 6 pm", ns(19, 18), ns(20, 15, 30)),
    ],
)
def test_a_clock_time_of_a_day_is_one_of_that_day(question: str, since: int, until: int) -> None:
    day, clock = find_time_phrases(question)[0]
    found = resolve(clock, round(NOW.timestamp() * 1e9), round(FIRST.timestamp() * 1e9), UTC)
    assert day.rule in (TimeRule.DAY, TimeRule.DATE)
    assert (found.since_ns, found.until_ns) == (since, until)


def test_a_date_without_a_year_is_the_latest_that_has_come() -> None:
    found = window("did you see it on 31 december")
    assert found.since_ns == round(dt.datetime(2025, 12, 31, tzinfo=UTC).timestamp() * 1e9)
    leap = window("did you see it on 29 february")
    assert leap.since_ns == round(dt.datetime(2024, 2, 29, tzinfo=UTC).timestamp() * 1e9)


def test_the_phrase_leaves_the_question() -> None:
    phrases, rest = find_time_phrases("did you see the red car between 10 and 11")
    assert (phrases[0].rule, rest) == (TimeRule.BETWEEN, "did you see the red car")


@pytest.mark.parametrize(
    "question",
    [
        "where is the chair between the desk and the door",
        "how long ago did you see it",
        "a street at the night",
        "at 25:99",
        "did you see it on 31 february",
        "where may 2 people sit",
    ],
)
def test_what_is_no_time_stays(question: str) -> None:
    assert find_time_phrases(question) == ((), question)


def test_a_window_never_passes_as_of() -> None:
    for question in ("today", "this evening", "after 10", "in the last hour", "at 15:30"):
        phrases, _ = find_time_phrases(question)
        for phrase in phrases:
            assert resolve(phrase, round(NOW.timestamp() * 1e9), round(FIRST.timestamp() * 1e9), UTC).until_ns <= ns(
                20, 15, 30
            )
