"""The learning rate of each step."""

from __future__ import annotations

import pytest

from megacpp_assets.training.schedule import learning_rate
from tests.training.world import tiny_recipe


@pytest.mark.parametrize("schedule", ["cosine", "wsd"])
def test_a_rate_warms_up_and_ends_at_a_tenth(schedule: str) -> None:
    recipe = tiny_recipe(steps=1000, warmup_steps=100, learning_rate=1.0, schedule=schedule)
    rates = [learning_rate(recipe, step) for step in range(1001)]
    assert rates[0] == 0.01 and rates[99] == 1.0 and rates[1000] == pytest.approx(0.1)
    assert rates[:100] == sorted(rates[:100]) and rates[100:] == sorted(rates[100:], reverse=True)


def test_warm_up_stable_decay_stays_until_its_share_of_the_steps_is_left() -> None:
    recipe = tiny_recipe(steps=1100, warmup_steps=100, learning_rate=1.0, schedule="wsd", decay_share=0.2)
    assert {learning_rate(recipe, step) for step in range(100, 900)} == {1.0}
    assert learning_rate(recipe, 1000) == pytest.approx(0.55)
