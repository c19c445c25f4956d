"""Bugs in reinforcement learning, in torch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from . import Case, bug

CASES: list[Case] = []


@bug(CASES, "PacktPublishing/Deep-Reinforcement-Learning-Hands-On issue 33", "n d", "n", "d 1")
def advantage_of_a_value_column(states: Tensor, returns: Tensor, weight: Tensor) -> Tensor:
    values = states @ weight
    advantages = returns - values.detach()  # bug
    return advantages.mean()


@bug(CASES, "PacktPublishing/Deep-Reinforcement-Learning-Hands-On issue 74", "n c", "n", "n 1", "n:int")
def policy_loss_of_a_column_of_advantages(logits: Tensor, returns: Tensor, values: Tensor, actions: Tensor) -> Tensor:
    advantages = returns.unsqueeze(-1) - values
    chosen = torch.log_softmax(logits, 1)[torch.arange(actions.shape[0]), actions]
    return -(advantages * chosen).mean()  # bug


@bug(CASES, "RITCHIEHuang/DeepRL_Algorithms issue 13", "n", "n", "n 1", "n 1")
def surrogate_of_a_column(new: Tensor, old: Tensor, returns: Tensor, values: Tensor) -> Tensor:
    advantages = (returns - values) / 2.0
    ratio = torch.exp(new - old)
    surrogate = ratio * advantages  # bug
    return -surrogate.mean()


@bug(CASES, "RLinf/RLinf issue 1568", "n d", "d 1", "n 1")
def critic_loss_of_a_squeezed_head(states: Tensor, weight: Tensor, returns: Tensor) -> Tensor:
    values = (states @ weight).squeeze(-1)
    return (returns - values).square().mean()  # bug


@bug(CASES, "RLinf/RLinf issue 1568", "n d", "d 1", "n 1")
def clipped_values(states: Tensor, weight: Tensor, previous: Tensor) -> Tensor:
    values = (states @ weight).flatten()
    change = values - previous  # bug
    return change.clamp(-0.2, 0.2)


@bug(CASES, "allenai/allenact pull request 226", "n n", "n n c")
def entropy_per_step(losses: Tensor, logits: Tensor) -> Tensor:
    entropy = -(logits.softmax(-1) * logits.log_softmax(-1)).sum(-1)
    entropy = entropy.unsqueeze(-1)
    return (losses - 0.01 * entropy).mean()  # bug


@bug(CASES, "google-research/batch-ppo pull request 45", "n", "n c")
def entropy_that_keeps_its_axis(policy_loss: Tensor, logits: Tensor) -> Tensor:
    entropy = -(logits.softmax(1) * logits.log_softmax(1)).sum(1, keepdim=True)
    return (policy_loss - 0.01 * entropy).mean()  # bug


@bug(CASES, "pythonlessons/Reinforcement_Learning issue 6", "n", "n d", "d 1")
def stacked_returns(returns: Tensor, states: Tensor, weight: Tensor) -> Tensor:
    discounted = returns.reshape(-1, 1)
    values = (states @ weight)[:, 0]
    return discounted - values  # bug


@bug(CASES, "pytorch/rl pull request 2756", "n", "n", "n 1", "n 1")
def weighted_advantage(new: Tensor, old: Tensor, target: Tensor, value: Tensor) -> Tensor:
    advantage = target - value
    log_weight = new - old
    gain = log_weight.exp() * advantage  # bug
    return -gain.mean()


@bug(CASES, "pytorch/rl issue 1243", "n d", "n d", "n 1")
def reinforce_loss(means: Tensor, actions: Tensor, advantage: Tensor) -> Tensor:
    log_prob = -(means - actions).square().sum(-1)
    return -(log_prob * advantage).mean()  # bug


@bug(CASES, "kengz/SLM-Lab pull request 372", "n", "n", "n c")
def target_of_a_maximum_that_keeps_its_axis(rewards: Tensor, dones: Tensor, following: Tensor) -> Tensor:
    largest = following.max(dim=-1, keepdim=True)[0]
    return rewards + 0.99 * (1 - dones) * largest  # bug


@bug(CASES, "kengz/SLM-Lab pull request 372", "n c", "n:int", "n")
def gathered_values(q: Tensor, actions: Tensor, targets: Tensor) -> Tensor:
    chosen = q.gather(-1, actions.unsqueeze(-1))
    return F.mse_loss(chosen, targets)  # bug


@bug(CASES, "thu-ml/tianshou pull request 159", "n c", "n:int", "n", "n")
def weights_of_prioritized_replay(q: Tensor, actions: Tensor, returns: Tensor, weight: Tensor) -> Tensor:
    error = q.gather(1, actions.unsqueeze(1)) - returns.unsqueeze(1)
    return (error.pow(2) * weight).mean()  # bug


@bug(CASES, "higgsfield/RL-Adventure issue 13", "n", "n", "n 1")
def weights_of_a_buffer(q: Tensor, expected: Tensor, weights: Tensor) -> Tensor:
    loss = (q - expected.detach()).pow(2) * weights  # bug
    return loss + 1e-5


@bug(CASES, "UoA-CARES/cares_reinforcement_learning pull request 263", "n", "n", "n d", "d 1")
def unsqueezed_rewards(rewards: Tensor, dones: Tensor, following: Tensor, weight: Tensor) -> Tensor:
    rewards = rewards.unsqueeze(0).reshape(-1, 1)
    target = (following @ weight).view(-1)
    return rewards + 0.99 * (1 - dones) * target  # bug


@bug(CASES, "ghliu/pytorch-ddpg issue 6", "n", "n", "n d", "d 1")
def target_of_a_critic(rewards: Tensor, terminal: Tensor, following: Tensor, weight: Tensor) -> Tensor:
    q = following @ weight
    return rewards + 0.99 * (terminal * q)  # bug


@bug(CASES, "thu-ml/tianshou issue 40", "n c", "n")
def entropy_of_soft_actor_critic(log_probs: Tensor, q: Tensor) -> Tensor:
    log_prob = torch.unsqueeze(torch.sum(log_probs, 1), 1)
    return (0.2 * log_prob - q).mean()  # bug


@bug(CASES, "pytorch/pytorch issue 43878", "n c", "n 1:int")
def categorical_of_a_column_of_actions(logits: Tensor, actions: Tensor) -> Tensor:
    policy = torch.distributions.Categorical(logits=logits, validate_args=False)
    return policy.log_prob(actions)  # bug


@bug(CASES, "pytorch/pytorch issue 43878", "n 1", "n 1", "n")
def normal_of_a_vector_of_actions(mean: Tensor, deviation: Tensor, actions: Tensor) -> Tensor:
    policy = torch.distributions.Normal(mean, deviation.exp(), validate_args=False)
    return policy.log_prob(actions)  # bug


@bug(CASES, "mila-iqia/babyai pull request 73", "n c", "n:int")
def agreement_of_actions(probabilities: Tensor, actions: Tensor) -> Tensor:
    best = probabilities.max(1, keepdim=True)[1]
    return (best == actions).float().mean()  # bug


@bug(CASES, "automl/Mighty pull request 126", "1 n 1", "1 n")
def returns_of_one_environment(values: Tensor, returns: Tensor) -> Tensor:
    return (returns - values).square().mean()  # bug


@bug(CASES, "BY571/QR-DQN issue 1", "n s s", "s")
def quantiles_on_the_wrong_axis(errors: Tensor, quantiles: Tensor) -> Tensor:
    return (quantiles - (errors.detach() < 0).float()).abs()  # bug


@bug(CASES, "pytorch/rl issue 1243, for the key done", "n 1", "n")
def target_of_finished_episodes(values: Tensor, dones: Tensor) -> Tensor:
    alive = 1.0 - dones
    return torch.where(alive > 0, values, torch.zeros_like(values))  # bug


@bug(CASES, "kengz/SLM-Lab pull request 154", "n", "n d", "n d", "d 1")
def temporal_differences(rewards: Tensor, states: Tensor, following: Tensor, weight: Tensor) -> Tensor:
    now, later = states @ weight, following @ weight
    return rewards + 0.99 * later - now  # bug
