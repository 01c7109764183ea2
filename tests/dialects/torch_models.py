"""Makes models with PyTorch and exports them to ONNX; facts.json gets the parameters and FLOPs that PyTorch counts.

    python torch_models.py DIRECTORY

Needs torch, onnx and onnxscript.
"""

import json
import os
import sys

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.GroupNorm(4, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, groups=4)

    def forward(self, x):
        return torch.relu(x + self.conv2(torch.relu(self.norm(self.conv1(x)))))


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.layer = kind(12, 20, num_layers=2, **options)
        self.head = nn.Linear(20 * (2 if options.get("bidirectional") else 1), 3)

    def forward(self, x):
        return self.head(self.layer(x)[0][-1])


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(nn.Conv2d(3, 8, 5, 2), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 6))

    def forward(self, a, b):
        return (self.tower(a) - self.tower(b)).abs().sum(-1)


class Reshaping(nn.Module):
    """Shapes that are computed from the input's."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(16, 48)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.project(x).reshape(batch, length, 3, 4, 4).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-1, -2) / 2.0, -1)
        return (weights @ v).transpose(1, 2).reshape(batch, length, 16)


class Bottleneck(nn.Module):
    """The block of ResNet-50."""

    def __init__(self, channels, width, stride=1):
        super().__init__()
        norm = lambda wide: nn.BatchNorm2d(wide)
        self.main = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False), norm(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), norm(width), nn.ReLU(),
            nn.Conv2d(width, 4 * width, 1, bias=False), norm(4 * width),
        )
        self.side = nn.Identity()
        if stride != 1 or channels != 4 * width:
            self.side = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False), norm(4 * width))

    def forward(self, x):
        return torch.relu(self.main(x) + self.side(x))


def resnet():
    """ResNet-50 as torchvision has it."""
    parts, channels = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for at, (count, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for block in range(count):
            parts.append(Bottleneck(channels, width, 2 if at > 0 and block == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


class Inverted(nn.Module):
    """The block of MobileNetV2, with the gate of MobileNetV3."""

    def __init__(self, channels, wide, out, stride):
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.Hardswish())
        self.depth = nn.Sequential(nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.Hardswish())
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, wide // 4, 1), nn.ReLU(), nn.Conv2d(wide // 4, wide, 1), nn.Hardsigmoid())
        self.project = nn.Sequential(nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out))
        self.is_residual = stride == 1 and channels == out

    def forward(self, x):
        y = self.depth(self.expand(x))
        y = self.project(y * self.gate(y))
        return x + y if self.is_residual else y


def mobilenet():
    blocks = [Inverted(16, 64, 24, 2), Inverted(24, 72, 24, 1), Inverted(24, 96, 40, 2), Inverted(40, 160, 40, 1)]
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.Hardswish(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(40, 10))


class Vision(nn.Module):
    """A small vision transformer."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 64, 8, 8)
        self.place = nn.Parameter(torch.randn(1, 65, 64))
        self.token = nn.Parameter(torch.randn(1, 1, 64))
        self.blocks = nn.Sequential(*(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, norm_first=True, activation="gelu") for _ in range(3)))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.place
        return self.head(self.blocks(x)[:, 0])


MODELS = {
    "torch_resnet50": (resnet, [(1, 3, 224, 224)]),
    "torch_mobilenet": (mobilenet, [(1, 3, 96, 96)]),
    "torch_vision": (Vision, [(2, 3, 64, 64)]),
    "torch_odd_decoder": (lambda: nn.Sequential(nn.ConvTranspose2d(4, 6, 3, 2), nn.ReLU(), nn.Conv2d(6, 2, 3)), [(1, 4, 9, 9)]),
    "torch_mlp": (lambda: nn.Sequential(nn.Linear(20, 50), nn.GELU(), nn.Linear(50, 1)), [(2, 20)]),
    "torch_blocks": (lambda: nn.Sequential(nn.Conv2d(3, 16, 7, 2, 3), nn.MaxPool2d(3, 2, 1, ceil_mode=True), Block(16), Block(16)), [(1, 3, 65, 65)]),
    "torch_lstm": (lambda: Recurrent(nn.LSTM, bidirectional=True), [(7, 2, 12)]),
    "torch_gru": (lambda: Recurrent(nn.GRU), [(7, 2, 12)]),
    "torch_transformer": (lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), [(2, 9, 32)]),
    "torch_towers": (Towers, [(1, 3, 33, 33), (1, 3, 33, 33)]),
    "torch_reshaping": (Reshaping, [(3, 11, 16)]),
    "torch_decoder": (lambda: nn.Sequential(nn.ConvTranspose2d(8, 6, 4, 2, 1), nn.ReLU(), nn.Upsample(scale_factor=2), nn.Conv2d(6, 1, 1)), [(1, 8, 9, 9)]),
    "torch_conv3d": (lambda: nn.Sequential(nn.Conv3d(2, 6, 3, 2), nn.AvgPool3d(2), nn.Flatten(), nn.Linear(6 * 27, 4)), [(1, 2, 14, 14, 14)]),
    "torch_conv1d": (lambda: nn.Sequential(nn.Conv1d(4, 9, 5, dilation=2), nn.PReLU(9), nn.LayerNorm(52)), [(1, 4, 60)]),
}


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    path = f"{directory}/facts.json"
    facts = json.load(open(path)) if os.path.exists(path) else {}
    torch.manual_seed(1)
    for name, (make, shapes) in MODELS.items():
        model = make().eval()
        # Weights that are zeros or ones may be dropped by an exporter.
        for parameter in model.parameters():
            nn.init.uniform_(parameter, 0.05, 0.15)
        inputs = tuple(torch.zeros(shape) for shape in shapes)
        with FlopCounterMode(display=False) as counter, torch.no_grad(), nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
            model(*inputs)
        faults = {}
        for suffix, dynamo in (("", False), ("_dynamo", True)):
            try:
                torch.onnx.export(model, inputs, f"{directory}/{name}{suffix}.onnx", dynamo=dynamo, **({} if dynamo else {"opset_version": 17}))
            except Exception as error:
                faults[f"onnx{suffix}"] = str(error).splitlines()[0]
        dynamic = {"x": {0: "batch"}} if len(shapes) == 1 else None
        if dynamic:
            try:
                torch.onnx.export(model, inputs, f"{directory}/{name}_open.onnx", dynamo=False, opset_version=17, input_names=["x"], dynamic_axes=dynamic)
            except Exception as error:
                faults["onnx_open"] = str(error).splitlines()[0]
        parameters = sum(parameter.numel() for parameter in model.parameters())
        facts[name] = {"parameters": parameters, "flops": counter.get_total_flops(), "batch": shapes[0][0], "batch_norm": sum(p.numel() for m in model.modules() if isinstance(m, nn.BatchNorm2d) for p in m.parameters()), "faults": faults}
        print(name, facts[name], flush=True)
        with open(path, "w") as file:
            json.dump(facts, file, indent=1)


if __name__ == "__main__":
    main()
