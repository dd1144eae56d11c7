"""Kalman filter arithmetic on four numbers, in plain floats: several times faster than numpy for so few."""

from __future__ import annotations

State = tuple[float, float, float, float]
Symmetric4 = tuple[float, float, float, float, float, float, float, float, float, float]
"""Upper triangle of a symmetric 4 x 4 matrix, row by row."""


def times(p: Symmetric4, h: State) -> State:
    """The matrix times a vector."""
    a, b, c, d = h
    return (
        p[0] * a + p[1] * b + p[2] * c + p[3] * d,
        p[1] * a + p[4] * b + p[5] * c + p[6] * d,
        p[2] * a + p[5] * b + p[7] * c + p[8] * d,
        p[3] * a + p[6] * b + p[8] * c + p[9] * d,
    )


def dot(a: State, b: State) -> float:
    """The inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


def scaled(p: Symmetric4, by: float) -> Symmetric4:
    """The matrix times a number."""
    return (
        p[0] * by,
        p[1] * by,
        p[2] * by,
        p[3] * by,
        p[4] * by,
        p[5] * by,
        p[6] * by,
        p[7] * by,
        p[8] * by,
        p[9] * by,
    )


def absorb(
    mean: State, p: Symmetric4, row: State, residual: float, linearised_at: State, variance: float
) -> tuple[State, Symmetric4]:
    """One scalar measurement, ``residual`` being measured minus predicted at ``linearised_at``."""
    a, b, c, d = row
    g0 = p[0] * a + p[1] * b + p[2] * c + p[3] * d
    g1 = p[1] * a + p[4] * b + p[5] * c + p[6] * d
    g2 = p[2] * a + p[5] * b + p[7] * c + p[8] * d
    g3 = p[3] * a + p[6] * b + p[8] * c + p[9] * d
    s = 1.0 / (a * g0 + b * g1 + c * g2 + d * g3 + variance)
    at = linearised_at
    shift = a * (mean[0] - at[0]) + b * (mean[1] - at[1]) + c * (mean[2] - at[2]) + d * (mean[3] - at[3])
    gain = (residual - shift) * s
    return (
        (mean[0] + g0 * gain, mean[1] + g1 * gain, mean[2] + g2 * gain, mean[3] + g3 * gain),
        (
            p[0] - s * g0 * g0,
            p[1] - s * g0 * g1,
            p[2] - s * g0 * g2,
            p[3] - s * g0 * g3,
            p[4] - s * g1 * g1,
            p[5] - s * g1 * g2,
            p[6] - s * g1 * g3,
            p[7] - s * g2 * g2,
            p[8] - s * g2 * g3,
            p[9] - s * g3 * g3,
        ),
    )
