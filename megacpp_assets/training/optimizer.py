"""AdamW and Muon over named parameters, by torch's functional forms. Their state is a dictionary of tensors.

The classes of `torch.optim` import the compiler when they are made (2 s a process); the functions that they call do
not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Protocol

import torch
from torch import Tensor, nn
from torch.optim._muon import muon
from torch.optim.adamw import adamw

from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.training.sharding import local

BETA1: Final = 0.9
BETA2: Final = 0.95
EPSILON: Final = 1e-8
_FIRST: Final = "exp_avg."
_SECOND: Final = "exp_avg_sq."
_MOMENTUM: Final = "momentum."
_BLOCKS: Final = "blocks."
_STRUCTURE: Final = "structure."
_NO_SHARES: Final[Mapping[str, float]] = MappingProxyType({})


class Optimizer(Protocol):
    """Changes parameters by their gradients. `steps` is the number of completed steps."""

    steps: int

    def step(self, learning_rate: float) -> None:
        """Apply the gradients of all parameters, each of which must have one."""

    def clear(self) -> None:
        """Drop all gradients."""

    def state(self) -> dict[str, Tensor]:
        """Return the state tensors by name. `step` changes them in place."""


def optimizer_for(recipe: TrainingRecipe, parameters: Mapping[str, nn.Parameter]) -> Optimizer:
    """Return the recipe's optimizer over `parameters`."""
    shares = rate_shares(recipe, parameters)
    if recipe.optimizer == "muon":
        return Muon(parameters, recipe.weight_decay, shares)
    return AdamW(parameters, recipe.weight_decay, shares)


def rate_shares(recipe: TrainingRecipe, names: Iterable[str]) -> dict[str, float]:
    """Return the share of the learning rate of each of `names` that does not learn at all of it."""
    return {name: recipe.structure_learning_rate for name in names if name.startswith(_STRUCTURE)}


class AdamW:
    """AdamW. Weight decay applies to matrices and not to vectors (norms, scales).

    The parameters in `shares` learn at that share of the learning rate, the others at all of it.
    """

    def __init__(
        self, parameters: Mapping[str, nn.Parameter], weight_decay: float, shares: Mapping[str, float] = _NO_SHARES
    ) -> None:
        self.parameters = dict(parameters)
        self.weight_decay = weight_decay
        self.shares = shares
        self.first = {name: torch.zeros_like(parameter) for name, parameter in self.parameters.items()}
        self.second = {name: torch.zeros_like(parameter) for name, parameter in self.parameters.items()}
        self.steps = 0

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Apply the gradients of all parameters, each of which must have one."""
        for names, decay, share in self._groups():
            parameters = [self.parameters[name] for name in names]
            # AdamW is element-wise, so each process can step its own part of a sharded parameter.
            adamw(
                [local(parameter) for parameter in parameters],
                [local(_gradient(parameter)) for parameter in parameters],
                [local(self.first[name]) for name in names],
                [local(self.second[name]) for name in names],
                [],
                [torch.tensor(float(self.steps), device=parameter.device) for parameter in parameters],
                fused=True,
                amsgrad=False,
                beta1=BETA1,
                beta2=BETA2,
                lr=learning_rate * share,
                weight_decay=decay,
                eps=EPSILON,
                maximize=False,
            )
        self.steps += 1

    def clear(self) -> None:
        """Drop all gradients."""
        for parameter in self.parameters.values():
            parameter.grad = None

    def state(self) -> dict[str, Tensor]:
        """Return both moments of every parameter, by name."""
        first = {_FIRST + name: tensor for name, tensor in self.first.items()}
        return first | {_SECOND + name: tensor for name, tensor in self.second.items()}

    def _groups(self) -> Iterator[tuple[list[str], float, float]]:
        """Yield the names of parameters that are stepped together, with their weight decay and their share."""
        groups: dict[tuple[float, float], list[str]] = {}
        for name, parameter in self.parameters.items():
            decay = self.weight_decay if parameter.ndim >= 2 else 0.0
            groups.setdefault((decay, self.shares.get(name, 1.0)), []).append(name)
        yield from ((names, *group) for group, names in groups.items())


class Muon:
    """Muon for the matrices of blocks, AdamW for all other parameters.

    Muon steps by a momentum matrix whose singular values are set to about 1. Its updates are scaled to the size of
    AdamW's, so that both use the same learning rate (Moonlight, 2025).
    """

    def __init__(
        self, parameters: Mapping[str, nn.Parameter], weight_decay: float, shares: Mapping[str, float] = _NO_SHARES
    ) -> None:
        names = {name for name, parameter in parameters.items() if name.startswith(_BLOCKS) and parameter.ndim == 2}
        self.matrices = {name: parameters[name] for name in sorted(names)}
        self.rest = AdamW({name: each for name, each in parameters.items() if name not in names}, weight_decay, shares)
        self.momentum = {name: torch.zeros_like(parameter) for name, parameter in self.matrices.items()}
        self.weight_decay = weight_decay

    @property
    def steps(self) -> int:
        """The number of completed steps."""
        return self.rest.steps

    @steps.setter
    def steps(self, steps: int) -> None:
        self.rest.steps = steps

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Apply the gradients of all parameters, each of which must have one."""
        muon(
            list(self.matrices.values()),
            [_gradient(parameter) for parameter in self.matrices.values()],
            list(self.momentum.values()),
            lr=learning_rate,
            weight_decay=self.weight_decay,
            momentum=0.95,
            nesterov=True,
            ns_coefficients=(3.4445, -4.7750, 2.0315),
            ns_steps=5,
            eps=1e-7,
            adjust_lr_fn="match_rms_adamw",
            has_complex=False,
        )
        self.rest.step(learning_rate)

    def clear(self) -> None:
        """Drop all gradients."""
        for parameter in self.matrices.values():
            parameter.grad = None
        self.rest.clear()

    def state(self) -> dict[str, Tensor]:
        """Return the momentum of the blocks' matrices and AdamW's moments of all other parameters, by name."""
        return {_MOMENTUM + name: tensor for name, tensor in self.momentum.items()} | self.rest.state()


def _gradient(parameter: nn.Parameter) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad
