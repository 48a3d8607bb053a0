"""AdamW over named parameters, by torch's functional form, with its state as plain named tensors.

The class `torch.optim.AdamW` imports the compiler when it is made (2 s a process); the function it calls does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

_BETA1: Final = 0.9
_BETA2: Final = 0.95
_EPSILON: Final = 1e-8
_FIRST: Final = "exp_avg."
_SECOND: Final = "exp_avg_sq."


class AdamW:
    """Matrices decay, vectors (norms, scales) do not."""

    def __init__(self, parameters: Mapping[str, nn.Parameter], weight_decay: float) -> None:
        self.parameters = dict(parameters)
        self.weight_decay = weight_decay
        self.first = {name: torch.zeros_like(parameter) for name, parameter in self.parameters.items()}
        self.second = {name: torch.zeros_like(parameter) for name, parameter in self.parameters.items()}
        self.steps = 0

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Apply the gradients of all parameters, each of which must have one."""
        for names, decay in self._groups():
            parameters = [self.parameters[name] for name in names]
            adamw(
                list(parameters),
                [_gradient(parameter) for parameter in parameters],
                [self.first[name] for name in names],
                [self.second[name] for name in names],
                [],
                [torch.tensor(float(self.steps), device=parameter.device) for parameter in parameters],
                fused=True,
                amsgrad=False,
                beta1=_BETA1,
                beta2=_BETA2,
                lr=learning_rate,
                weight_decay=decay,
                eps=_EPSILON,
                maximize=False,
            )
        self.steps += 1

    def clear(self) -> None:
        """Drop all gradients."""
        for parameter in self.parameters.values():
            parameter.grad = None

    def state(self) -> dict[str, Tensor]:
        """Both moments of every parameter, by name."""
        first = {_FIRST + name: tensor for name, tensor in self.first.items()}
        return first | {_SECOND + name: tensor for name, tensor in self.second.items()}

    def _groups(self) -> tuple[tuple[list[str], float], ...]:
        matrices = [name for name, parameter in self.parameters.items() if parameter.ndim >= 2]
        vectors = [name for name, parameter in self.parameters.items() if parameter.ndim < 2]
        return (matrices, self.weight_decay), (vectors, 0.0)


def _gradient(parameter: nn.Parameter) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad
