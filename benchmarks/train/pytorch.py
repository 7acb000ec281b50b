"""The same networks in PyTorch: as written (eager), in channels_last, compiled (inductor)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .tasks import DECAY, LEARNING_RATE, MOMENTUM, TASKS, make_weights

Step = Callable[[], Any]


class Bottleneck(nn.Module):  # type: ignore[misc]
    """MXNet's: the stride is that of the first convolution, those of one pixel have a bias."""

    def __init__(self, channels: int, filters: int, stride: int, widens: bool) -> None:
        super().__init__()
        inner = filters // 4
        self.body = nn.Sequential(
            nn.Conv2d(channels, inner, 1, stride), nn.BatchNorm2d(inner), nn.ReLU(inplace=True),
            nn.Conv2d(inner, inner, 3, 1, 1, bias=False), nn.BatchNorm2d(inner),
            nn.ReLU(inplace=True), nn.Conv2d(inner, filters, 1), nn.BatchNorm2d(filters))
        self.downsample = nn.Sequential(
            nn.Conv2d(channels, filters, 1, stride, bias=False),
            nn.BatchNorm2d(filters)) if widens else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.downsample(x))


class LastOutput(nn.Module):  # type: ignore[misc]
    """An LSTM, of whose outputs the last one is used."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(512, 512, num_layers=2)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.lstm(x)[0][-1]
        return found


def make_resnet50() -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64),
                               nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, (blocks, filters) in enumerate(((3, 256), (4, 512), (6, 1024), (3, 2048))):
        for i in range(blocks):
            stride = 2 if stage and i == 0 else 1
            layers.append(Bottleneck(channels, filters, stride, i == 0))
            channels = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def make_net(name: str) -> nn.Module:
    """The network with its first weights."""
    made: nn.Module
    if name == "resnet50":
        made = make_resnet50()
    elif name == "lenet":
        made = nn.Sequential(
            nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10))
    elif name == "mlp":
        made = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                             nn.Linear(256, 10))
    else:
        made = nn.Sequential(LastOutput(), nn.Linear(512, 10))
    parameters = dict(made.named_parameters())
    values = make_weights([tuple(p.shape) for p in parameters.values()])
    with torch.no_grad():
        for (path, p), value in zip(parameters.items(), values, strict=True):
            if value is not None:
                p.copy_(torch.from_numpy(value))
            elif "bias" in path:
                p.zero_()
    return made


def load(how: str, name: str, batch: int) -> tuple[Step, Step]:
    """(a step, the loss of the last one) of a network, way of running and batch."""
    net: Any = make_net(name)
    x = torch.from_numpy(TASKS[name].make_data(batch))
    y = torch.from_numpy(TASKS[name].make_labels(batch)).long()
    if how == "channels_last" and x.dim() == 4:
        net = net.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(net.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM,
                                weight_decay=DECAY, fused=True)
    loss = nn.CrossEntropyLoss()

    def compute(x: Tensor, y: Tensor) -> Tensor:
        found: Tensor = loss(net(x), y)
        return found

    if how == "inductor":
        compute = torch.compile(compute)
    last: list[Any] = [None]

    def step() -> None:
        optimizer.zero_grad()
        last[0] = compute(x, y)
        last[0].backward()
        optimizer.step()

    return step, lambda: float(last[0].detach())
