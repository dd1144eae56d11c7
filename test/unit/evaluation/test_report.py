from pathlib import Path

import pytest

from vlkng_ros.evaluation.report import table, write_report


def test_a_table_has_the_figures_that_any_run_has() -> None:
    runs = {"a": {"questions": 2, "mrr_at_5": None, "time_n": None}, "b": {"questions": 3, "mrr_at_5": 0.25}}
    assert table(runs).splitlines() == [
        "| figure | a | b |",
        "|---|---:|---:|",
        "| questions | 2 | 3 |",
        "| mrr_at_5 |  | 0.25 |",
    ]


def test_a_report_shows_calibration_on_what_was_left_out(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install 'vlkng_ros[plots]'")
    report = write_report(tmp_path, {"hybrid": []}, "Test", {"7, in use": [(0.25, 0.5, 4), (0.9, 1.0, 8)]}).read_text()
    assert report.startswith("# Test\n")
    assert "- 7, in use: 0.25: 0.50 of 4; 0.90: 1.00 of 8" in report
    assert "![calibration](calibration.png)" in report
    assert (tmp_path / "calibration.png").read_bytes().startswith(b"\x89PNG")
    # Nothing was answered: nothing to draw.
    assert "reliability.png" not in report
    assert not (tmp_path / "position_error.png").exists()
