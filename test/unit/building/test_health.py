import pytest

from vlkng_ros.building.health import Durations, Problem, ProblemLog, Rate


def test_a_new_problem_is_said_at_once_and_a_lasting_one_from_time_to_time():
    log = ProblemLog(repeat_s=30.0)
    missing = Problem("pose", "no pose received on /pose for 5 s")
    longer = Problem("pose", "no pose received on /pose for 35 s")
    assert log.update([missing], now_s=5.0) == [missing]
    assert log.update([missing], now_s=20.0) == []
    assert log.update([longer], now_s=35.0) == [longer]


def test_a_problem_that_went_away_is_said_again_when_it_comes_back():
    log = ProblemLog()
    missing = Problem("pose", "no pose")
    log.update([missing], now_s=0.0)
    assert log.update([], now_s=1.0) == []
    assert log.update([missing], now_s=2.0) == [missing]


def test_a_rate_counts_the_last_seconds():
    rate = Rate(window_s=5.0)
    assert rate.silent_s(now_s=9.0, since_s=2.0) == 7.0
    for i in range(100):
        rate.tick(i * 0.1)
    assert rate.hz(9.95) == pytest.approx(10.0, abs=0.2)
    assert rate.hz(30.0) == 0.0
    assert rate.total == 100
    assert rate.silent_s(now_s=12.0, since_s=0.0) == pytest.approx(2.1)


def test_percentiles_of_durations_are_in_milliseconds():
    durations = Durations()
    assert durations.percentile_ms(99) == 0.0
    for i in range(100):
        durations.add(i / 1000)
    assert durations.percentile_ms(50) == pytest.approx(50.0)
    assert durations.percentile_ms(99) == pytest.approx(99.0)
