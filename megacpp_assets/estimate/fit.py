"""Fits costs that are sums of features times coefficients that are not negative."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

Features = Sequence[float]
_LEAST: Final = 1e-9


def fit(features: Sequence[Features], values: Sequence[float]) -> tuple[float, ...]:
    """Return a coefficient for each feature, none negative, with the least sum of squared relative errors.

    Every subset of the features is tried (there are at most four), of at most half as many as there are values, but
    one. Of equal subsets the one with the last feature counts: a size of the text. All zero if every value
    is.
    """
    rows, wanted = np.asarray(features, dtype=float), np.asarray(values, dtype=float)
    width = rows.shape[1]
    scale = 1 / np.maximum(wanted, max(wanted.max() * 1e-3, _LEAST))
    best, least = np.zeros(width), float(np.sum((wanted * scale) ** 2))
    for count in range(1, min(width, max(1, len(wanted) // 2)) + 1):
        for chosen in combinations(reversed(range(width)), count):
            part = rows[:, chosen]
            solved = np.linalg.lstsq(part * scale[:, None], wanted * scale, rcond=None)[0]
            error = float(np.sum(((part @ solved - wanted) * scale) ** 2))
            if solved.min() >= 0 and error < least - _LEAST:
                best, least = np.zeros(width), error
                best[list(chosen)] = solved
    return tuple(float(value) for value in best)


def apply(coefficients: Sequence[float], features: Features) -> float:
    """Return the cost of something with these features."""
    return sum(coefficient * feature for coefficient, feature in zip(coefficients, features, strict=True))


def left_out_errors(features: Sequence[Features], values: Sequence[float]) -> list[float]:
    """Return the relative error of each value when it is predicted from all others; empty for fewer than two."""
    if len(values) < 2:
        return []
    errors = []
    for index, value in enumerate(values):
        others = fit([*features[:index], *features[index + 1 :]], [*values[:index], *values[index + 1 :]])
        errors.append(abs(apply(others, features[index]) - value) / max(value, _LEAST))
    return errors
