"""Writes torch.json. Run with PyTorch: python make_torch_golden.py

Networks as PyTorch users know them, written out here: a digest of the names and shapes of the state
dict of each, and its scores for a picture, with parameters that come from their names alone.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import zlib
from typing import Any

import numpy as np
import torch
from torch import nn

CLASSES = 7
BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3),
          152: (3, 8, 36, 3)}
VGGS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
DENSE = {121: (64, 32, (6, 12, 24, 16)), 161: (96, 48, (6, 12, 36, 24)),
         169: (64, 32, (6, 12, 32, 32)), 201: (64, 32, (6, 12, 48, 32))}


class Residual(nn.Module):
    def __init__(self, before: int, after: int, stride: int, wide: bool) -> None:
        super().__init__()
        inside = after // 4 if wide else after
        if wide:
            sizes = [(before, inside, 1, 1), (inside, inside, 3, stride), (inside, after, 1, 1)]
        else:
            sizes = [(before, after, 3, stride), (after, after, 3, 1)]
        self.count = len(sizes)
        for i, (a, b, kernel, step) in enumerate(sizes, 1):
            setattr(self, f"conv{i}", nn.Conv2d(a, b, kernel, step, kernel // 2, bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(b))
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False),
                                            nn.BatchNorm2d(after))

    def forward(self, x: Any) -> Any:
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i < self.count:
                y = torch.relu(y)
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        wide = depth >= 50
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        before = 64
        for stage, count in enumerate(BLOCKS[depth]):
            after = (256 if wide else 64) << stage
            blocks = []
            for i in range(count):
                blocks.append(Residual(before, after, 2 if stage and not i else 1, wide))
                before = after
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(before, CLASSES)

    def forward(self, x: Any) -> Any:
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for stage in range(1, 5):
            x = getattr(self, f"layer{stage}")(x)
        return self.fc(x.mean((2, 3)))


def conv_bn_6(before: int, after: int, kernel: int, stride: int, groups: int) -> Any:
    return nn.Sequential(nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups,
                                   bias=False), nn.BatchNorm2d(after), nn.ReLU6())


class Inverted(nn.Module):
    def __init__(self, before: int, after: int, stride: int, widening: int) -> None:
        super().__init__()
        inside = before * widening
        layers = [] if widening == 1 else [conv_bn_6(before, inside, 1, 1, 1)]
        self.conv = nn.Sequential(*layers, conv_bn_6(inside, inside, 3, stride, inside),
                                  nn.Conv2d(inside, after, 1, bias=False), nn.BatchNorm2d(after))
        self.adds = stride == 1 and before == after

    def forward(self, x: Any) -> Any:
        return x + self.conv(x) if self.adds else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers = [conv_bn_6(3, 32, 3, 2, 1)]
        before = 32
        for widening, after, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                               (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                               (6, 320, 1, 1)):
            for i in range(count):
                layers.append(Inverted(before, after, 1 if i else stride, widening))
                before = after
        layers.append(conv_bn_6(before, 1280, 1, 1, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, CLASSES))

    def forward(self, x: Any) -> Any:
        return self.classifier(self.features(x).mean((2, 3)))


class Plain(nn.Module):
    """Features, then a classifier of their elements."""

    def __init__(self, features: list[Any], classifier: list[Any]) -> None:
        super().__init__()
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(*classifier)

    def forward(self, x: Any) -> Any:
        return self.classifier(self.features(x)).flatten(1)


def alexnet() -> Any:
    features: list[Any] = []
    before = 3
    for after, kernel, stride, padding, pooled in (
            (64, 11, 4, 2, True), (192, 5, 1, 2, True), (384, 3, 1, 1, False),
            (256, 3, 1, 1, False), (256, 3, 1, 1, True)):
        features += [nn.Conv2d(before, after, kernel, stride, padding), nn.ReLU()]
        features += [nn.MaxPool2d(3, 2)] if pooled else []
        before = after
    made = Plain(features, [nn.Dropout(), nn.Linear(256 * 36, 4096), nn.ReLU(), nn.Dropout(),
                            nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, CLASSES)])
    made.features.append(nn.Flatten())  # has no parameters, and so no name
    return made


def vgg(depth: int, with_norm: bool) -> Any:
    features: list[Any] = []
    before = 3
    for after, count in zip((64, 128, 256, 512, 512), VGGS[depth], strict=True):
        for _ in range(count):
            features.append(nn.Conv2d(before, after, 3, padding=1))
            features += [nn.BatchNorm2d(after)] if with_norm else []
            features.append(nn.ReLU())
            before = after
        features.append(nn.MaxPool2d(2, 2))
    features.append(nn.Flatten())
    return Plain(features, [nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Dropout(),
                            nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(),
                            nn.Linear(4096, CLASSES)])


class Fire(nn.Module):
    def __init__(self, before: int, squeezed: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(before, squeezed, 1)
        self.expand1x1 = nn.Conv2d(squeezed, 4 * squeezed, 1)
        self.expand3x3 = nn.Conv2d(squeezed, 4 * squeezed, 3, padding=1)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.expand1x1(x)), torch.relu(self.expand3x3(x))], 1)


def squeezenet(before: int, kernel: int, plan: tuple[int, ...]) -> Any:
    features: list[Any] = [nn.Conv2d(3, before, kernel, 2), nn.ReLU()]
    for squeezed in plan:
        features.append(Fire(before, squeezed) if squeezed
                        else nn.MaxPool2d(3, 2, ceil_mode=True))
        before = 8 * squeezed or before
    return Plain(features, [nn.Dropout(), nn.Conv2d(512, CLASSES, 1), nn.ReLU(),
                            nn.AdaptiveAvgPool2d(1)])


class DenseLayer(nn.Module):
    def __init__(self, before: int, growth: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(before)
        self.conv1 = nn.Conv2d(before, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x: Any) -> Any:
        y = self.conv1(torch.relu(self.norm1(x)))
        return torch.cat([x, self.conv2(torch.relu(self.norm2(y)))], 1)


class Transition(nn.Module):
    def __init__(self, before: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(before)
        self.conv = nn.Conv2d(before, before // 2, 1, bias=False)

    def forward(self, x: Any) -> Any:
        return nn.functional.avg_pool2d(self.conv(torch.relu(self.norm(x))), 2)


class DenseNet(nn.Module):
    def __init__(self, before: int, growth: int, layers: tuple[int, ...]) -> None:
        super().__init__()
        made = nn.Sequential()
        made.add_module("conv0", nn.Conv2d(3, before, 7, 2, 3, bias=False))
        made.add_module("norm0", nn.BatchNorm2d(before))
        made.add_module("relu0", nn.ReLU())
        made.add_module("pool0", nn.MaxPool2d(3, 2, 1))
        for number, count in enumerate(layers, 1):
            block = nn.Sequential()
            for i in range(count):
                block.add_module(f"denselayer{i + 1}", DenseLayer(before, growth))
                before += growth
            made.add_module(f"denseblock{number}", block)
            if number < len(layers):
                made.add_module(f"transition{number}", Transition(before))
                before //= 2
        made.add_module("norm5", nn.BatchNorm2d(before))
        self.features = made
        self.classifier = nn.Linear(before, CLASSES)

    def forward(self, x: Any) -> Any:
        return self.classifier(torch.relu(self.features(x)).mean((2, 3)))


class Conv(nn.Module):
    def __init__(self, before: int, after: int, kernel: Any, stride: int = 1,
                 padding: Any = 0) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, after, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(after, eps=0.001)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.bn(self.conv(x)))


WIDE, HIGH = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))


class Mixed(nn.Module):
    """Branches of convolutions by name, joined; "pool" stands before the last one."""

    def __init__(self, before: int, branches: list[list[tuple[Any, ...]]], pool: str) -> None:
        super().__init__()
        self.paths: list[list[str]] = []
        self.pool = pool
        self.after = before if pool == "max" else 0
        for branch in branches:
            channels = before
            for name, *sizes in branch:
                setattr(self, name, Conv(channels, *sizes))
                channels = sizes[0]
            self.paths.append([name for name, *_ in branch])
            self.after += channels

    def forward(self, x: Any) -> Any:
        outputs = []
        for names in self.paths:
            y = nn.functional.avg_pool2d(x, 3, 1, 1) if names == ["branch_pool"] else x
            for name in names:
                y = getattr(self, name)(y)
            outputs.append(y)
        if self.pool == "max":
            outputs.append(nn.functional.max_pool2d(x, 3, 2))
        return torch.cat(outputs, 1)


class MixedE(nn.Module):
    def __init__(self, before: int) -> None:
        super().__init__()
        self.branch1x1 = Conv(before, 320, 1)
        self.branch3x3_1 = Conv(before, 384, 1)
        self.branch3x3_2a = Conv(384, 384, (1, 3), 1, (0, 1))
        self.branch3x3_2b = Conv(384, 384, (3, 1), 1, (1, 0))
        self.branch3x3dbl_1 = Conv(before, 448, 1)
        self.branch3x3dbl_2 = Conv(448, 384, 3, 1, 1)
        self.branch3x3dbl_3a = Conv(384, 384, (1, 3), 1, (0, 1))
        self.branch3x3dbl_3b = Conv(384, 384, (3, 1), 1, (1, 0))
        self.branch_pool = Conv(before, 192, 1)

    def forward(self, x: Any) -> Any:
        a = self.branch3x3_1(x)
        b = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        return torch.cat([self.branch1x1(x), self.branch3x3_2a(a), self.branch3x3_2b(a),
                          self.branch3x3dbl_3a(b), self.branch3x3dbl_3b(b),
                          self.branch_pool(nn.functional.avg_pool2d(x, 3, 1, 1))], 1)


def mixed_a(before: int, pooled: int) -> Mixed:
    return Mixed(before, [[("branch1x1", 64, 1)],
                          [("branch5x5_1", 48, 1), ("branch5x5_2", 64, 5, 1, 2)],
                          [("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3, 1, 1),
                           ("branch3x3dbl_3", 96, 3, 1, 1)], [("branch_pool", pooled, 1)]], "mean")


def mixed_c(c: int) -> Mixed:
    return Mixed(768, [[("branch1x1", 192, 1)],
                       [("branch7x7_1", c, 1), ("branch7x7_2", c, *WIDE),
                        ("branch7x7_3", 192, *HIGH)],
                       [("branch7x7dbl_1", c, 1), ("branch7x7dbl_2", c, *HIGH),
                        ("branch7x7dbl_3", c, *WIDE), ("branch7x7dbl_4", c, *HIGH),
                        ("branch7x7dbl_5", 192, *WIDE)], [("branch_pool", 192, 1)]], "mean")


class Inception3(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.Conv2d_1a_3x3 = Conv(3, 32, 3, 2)
        self.Conv2d_2a_3x3 = Conv(32, 32, 3)
        self.Conv2d_2b_3x3 = Conv(32, 64, 3, 1, 1)
        self.Conv2d_3b_1x1 = Conv(64, 80, 1)
        self.Conv2d_4a_3x3 = Conv(80, 192, 3)
        self.Mixed_5b = mixed_a(192, 32)
        self.Mixed_5c = mixed_a(256, 64)
        self.Mixed_5d = mixed_a(288, 64)
        self.Mixed_6a = Mixed(288, [[("branch3x3", 384, 3, 2)], [
            ("branch3x3dbl_1", 64, 1), ("branch3x3dbl_2", 96, 3, 1, 1),
            ("branch3x3dbl_3", 96, 3, 2)]], "max")
        for letter, c in zip("bcde", (128, 160, 160, 192), strict=True):
            setattr(self, f"Mixed_6{letter}", mixed_c(c))
        self.Mixed_7a = Mixed(768, [[("branch3x3_1", 192, 1), ("branch3x3_2", 320, 3, 2)], [
            ("branch7x7x3_1", 192, 1), ("branch7x7x3_2", 192, *WIDE),
            ("branch7x7x3_3", 192, *HIGH), ("branch7x7x3_4", 192, 3, 2)]], "max")
        self.Mixed_7b = MixedE(1280)
        self.Mixed_7c = MixedE(2048)
        self.fc = nn.Linear(2048, CLASSES)

    def forward(self, x: Any) -> Any:
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(nn.functional.max_pool2d(x, 3, 2)))
        x = nn.functional.max_pool2d(x, 3, 2)
        for name in ("5b", "5c", "5d", "6a", "6b", "6c", "6d", "6e", "7a", "7b", "7c"):
            x = getattr(self, f"Mixed_{name}")(x)
        return self.fc(x.mean((2, 3)))


NETWORKS: dict[str, Any] = {
    "alexnet": alexnet, "mobilenet_v2": MobileNetV2, "inception_v3": Inception3,
    "squeezenet1_0": lambda: squeezenet(96, 7, (0, 16, 16, 32, 0, 32, 48, 48, 64, 0, 64)),
    "squeezenet1_1": lambda: squeezenet(64, 3, (0, 16, 16, 0, 32, 32, 0, 48, 48, 64, 64)),
    **{f"resnet{depth}": lambda depth=depth: ResNet(depth) for depth in BLOCKS},
    **{f"vgg{depth}{end}": lambda depth=depth, end=end: vgg(depth, bool(end))
       for depth in VGGS for end in ("", "_bn")},
    **{f"densenet{depth}": lambda sizes=sizes: DenseNet(*sizes) for depth, sizes in DENSE.items()}}


def values(name: str, shape: tuple[int, ...]) -> Any:
    """A parameter, out of its name: such that a network's scores are of the size of one."""
    source = np.random.default_rng(zlib.crc32(name.encode()))
    drawn = source.standard_normal(shape, np.float32)
    if name.endswith("running_var"):
        return np.exp(drawn / 4)
    if len(shape) > 1:
        return drawn * np.float32(np.sqrt(2 / np.prod(shape[1:])))
    return drawn / 8 + np.float32(name.endswith("weight"))


def picture(size: int) -> Any:
    source = np.random.default_rng(size)
    return source.standard_normal((2, 3, size, size), np.float32)


def main() -> None:
    torch.set_grad_enabled(False)
    found = {}
    for name, make in NETWORKS.items():
        net = make().eval()
        state = {key: value for key, value in net.state_dict().items()
                 if not key.endswith("num_batches_tracked")}
        lines = [f"{key} {list(value.shape)}" for key, value in sorted(state.items())]
        net.load_state_dict({key: torch.from_numpy(values(key, tuple(value.shape)))
                             for key, value in state.items()}, strict=False)
        size = 299 if name == "inception_v3" else 224
        scores = net.double()(torch.from_numpy(picture(size)).double())
        found[name] = {"count": len(lines), "size": size,
                       "digest": hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16],
                       "scores": [[round(x, 8) for x in row] for row in scores.tolist()]}
        print(name, np.abs(scores.numpy()).max(), flush=True)
    path = pathlib.Path(__file__).with_name("torch.json")
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
