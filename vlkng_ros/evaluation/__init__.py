"""Benchmarks in their published layouts, figures, reports."""
