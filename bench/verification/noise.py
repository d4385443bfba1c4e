"""Noise that is correlated over minutes, as a number of a busy host has it: the logarithm of one number per second."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from collectors.contract import Values

WHITE = 0.08
"""Independent noise of one second, in every kind."""

STRENGTH = 0.12
"""Standard deviation of the correlated part."""


def make_noise(kind: str, seconds: int, rng: np.random.Generator) -> Values:
    """Return float64 [seconds], the logarithm of the number relative to its level."""
    return WHITE * rng.normal(size=seconds) + KINDS[kind](seconds, rng)


def _make_none(seconds: int, rng: np.random.Generator) -> Values:
    return np.zeros(seconds)


def _build_autoregressive(constant_s: float) -> Callable[[int, np.random.Generator], Values]:
    """AR(1) that forgets within that time."""

    def build(seconds: int, rng: np.random.Generator) -> Values:
        phi = math.exp(-1 / constant_s)
        steps = rng.normal(size=seconds) * math.sqrt(1 - phi * phi)
        values = np.empty(seconds)
        values[0] = rng.normal()
        for at in range(1, seconds):
            values[at] = phi * values[at - 1] + steps[at]
        return STRENGTH * values

    return build


def _make_drift(seconds: int, rng: np.random.Generator) -> Values:
    """Up to 40 % in ten minutes, in either direction."""
    return np.linspace(0, float(rng.uniform(-0.4, 0.4)) * seconds / 600, seconds)


def _make_pink(seconds: int, rng: np.random.Generator) -> Values:
    """1/f noise: as much variance in every octave, up to four times the observed time."""
    count = 4 * seconds
    frequencies = np.fft.rfftfreq(count)
    frequencies[0] = frequencies[1]
    values = np.fft.irfft(np.fft.rfft(rng.normal(size=count)) / np.sqrt(frequencies), count)
    strength: Values = STRENGTH * (values / values.std())[:seconds]
    return strength


def _make_bursts(seconds: int, rng: np.random.Generator) -> Values:
    """A fifth of the time 10 to 50 % more, one minute at a time on average."""
    values, at, is_on = np.zeros(seconds), 0, rng.random() < 0.2
    while at < seconds:
        length = 1 + int(rng.exponential(60 if is_on else 240))
        if is_on:
            values[at : at + length] = rng.uniform(0.1, 0.5)
        at, is_on = at + length, not is_on
    return values


def _make_periodic(seconds: int, rng: np.random.Generator) -> Values:
    """A wave of 20 % with a period of 1 to 30 minutes."""
    period = math.exp(rng.uniform(math.log(60), math.log(1800)))
    return 0.2 * np.sin(2 * np.pi * (np.arange(seconds) / period + rng.random()))


def _make_shifts(seconds: int, rng: np.random.Generator) -> Values:
    """Another level every ten minutes on average, 25 % apart."""
    values, at = np.zeros(seconds), 0
    while at < seconds:
        length = 1 + int(rng.exponential(600))
        values[at : at + length] = 0.25 * rng.normal()
        at += length
    return values


KINDS: Mapping[str, Callable[[int, np.random.Generator], Values]] = {
    "independent": _make_none,
    "AR(1), 30 s": _build_autoregressive(30),
    "AR(1), 2 min": _build_autoregressive(120),
    "AR(1), 10 min": _build_autoregressive(600),
    "drift": _make_drift,
    "1/f": _make_pink,
    "bursts": _make_bursts,
    "periodic": _make_periodic,
    "level shifts": _make_shifts,
}
