"""Worlds whose truth is known."""

import doctest

import numpy as np
import pytest
from gymnasium.utils.passive_env_checker import check_action_space, check_observation_space

import egret
from egret import worlds


def test_egret_plays_the_pricing_world():
    world = worlds.pricing(rounds=2_000, seed=5)
    model = egret.Model(world.space, objective=egret.maximize(0, 1))
    context, _ = world.reset()
    regrets, rewards, means, ended = [], [], [], False
    while not ended:
        decision = model.decide(context)
        context, reward, ended, _, info = world.step(decision.action)
        model.learn(decision, reward)
        regrets.append(info["regret"])
        rewards.append(reward)
        means.append(info["mean"])
    assert len(regrets) == 2_000 and min(regrets) > -1e-9
    assert np.mean(regrets[-500:]) < 0.5 * np.mean(regrets[:100])
    # 6 standard errors: a wrong mean would show.
    assert abs(np.mean(rewards) - np.mean(means)) < 6 * np.std(rewards) / np.sqrt(2_000)


def test_equal_seeds_give_equal_rounds_and_other_seeds_others():
    one, same, other = (worlds.make("click", 50, seed).reset()[0] for seed in (1, 1, 2))
    assert np.array_equal(one, same) and not np.array_equal(one, other)
    world = worlds.make("click", 50, 1)
    assert np.array_equal(world.reset(seed=2)[0], other)


def test_spaces_are_those_of_gymnasium():
    for name in worlds.names():
        world = worlds.make(name, 20)
        check_action_space(world.action_space)
        check_observation_space(world.observation_space)
        context, _ = world.reset(seed=3, options={})
        assert context in world.observation_space
        ended = False
        while not ended:
            action = world.action_space.sample()
            context, reward, ended, cut, _ = world.step(action)
            assert context in world.observation_space and 0 <= reward <= 1 and not cut
        world.close()
    assert worlds.pricing().action_space.high == [50]


def test_all_worlds_are_named():
    assert "price" in worlds.names() and 10 < len(worlds.names())
    for name in worlds.names():
        assert 0 <= worlds.make(name, 2).step(0.5)[1] <= 1
    with pytest.raises(egret.EgretError, match="there are price"):
        worlds.make("nowhere")


def test_the_examples_of_the_modules():
    import egret.sklearn

    for module in (worlds, egret.sklearn):
        found = doctest.testmod(module, extraglobs={"egret": egret})
        assert found.failed == 0 < found.attempted, module
