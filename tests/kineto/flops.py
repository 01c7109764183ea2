"""Compares FLOPs from recorded shapes with `torch.utils.flop_counter`: `flops.py TFPROF DIRECTORY`.

Both count products of matrices, convolutions and attention, forward and backward. tfprof counts elementwise ops as well:
those rows are left out here. Where the counter says 0 (an LSTM of the CPU is one op), the figure is computed by hand.
"""

import json
import subprocess
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "conv", "attention", "rnn", "lstm", "gru", "linear", "mv", "dot")


class Residual(nn.Module):
    def __init__(self, channels, groups=1):
        super().__init__()
        self.a = nn.Conv2d(channels, channels, 3, padding=1, groups=groups)
        self.b = nn.Conv2d(channels, channels, 1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(self.norm(self.b(F.relu(self.a(x))))) + x


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.qkv, self.out, self.heads, self.causal = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, causal

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(*parts, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class ByHand(nn.Module):
    """Attention of products of matrices, with a bias."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width))

    def forward(self, x):
        x = x @ self.weight
        scores = torch.baddbmm(torch.zeros(x.shape[0], x.shape[1], x.shape[1]), x, x.transpose(1, 2))
        return torch.bmm(scores.softmax(-1), x)


class Calls(nn.Module):
    """A function of modules and of the input."""

    def __init__(self, function, *modules):
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(modules)

    def forward(self, x):
        return self.function(*self.parts, x)


def heads(x, count, width):
    return x[..., : count * width].reshape(*x.shape[:2], count, width).transpose(1, 2)


def models():
    yield "perceptron", nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 7)), torch.randn(9, 20)
    yield "sequence of vectors", nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, 16)), torch.randn(3, 11, 16)
    yield "convolutions", nn.Sequential(nn.Conv2d(3, 8, 5, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 12, 3, dilation=2)), torch.randn(4, 3, 33, 29)
    yield "residual", nn.Sequential(nn.Conv2d(3, 16, 7, stride=2, padding=3), Residual(16), Residual(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)), torch.randn(2, 3, 32, 32)
    yield "grouped", nn.Sequential(Residual(16, groups=4), Residual(16, groups=16)), torch.randn(2, 16, 14, 14)
    yield "sound", nn.Sequential(nn.Conv1d(2, 8, 9, stride=3), nn.ReLU(), nn.Conv1d(8, 8, 3, padding=1)), torch.randn(3, 2, 100)
    yield "film", nn.Sequential(nn.Conv3d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv3d(4, 2, (1, 3, 3), stride=(1, 2, 2))), torch.randn(2, 2, 6, 12, 12)
    yield "autoencoder", nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.ConvTranspose2d(8, 1, 3, stride=2)), torch.randn(2, 1, 17, 17)
    yield "transformer", nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), torch.randn(2, 10, 32)
    yield "attention", Attention(32, 4, causal=False), torch.randn(2, 24, 32)
    yield "causal attention", Attention(48, 3, causal=True), torch.randn(2, 40, 48)
    yield "attention by hand", ByHand(8), torch.randn(5, 12, 8)
    yield "embedding", nn.Sequential(nn.Embedding(100, 16), nn.Flatten(), nn.Linear(16 * 6, 4)), torch.randint(0, 100, (8, 6))
    masked = lambda proj, x: F.scaled_dot_product_attention(heads(proj(x), 8, 4), heads(x, 8, 4), heads(x, 8, 4), attn_mask=torch.ones(24, 24).tril())
    yield "masked attention", Calls(masked, nn.Linear(32, 32)), torch.randn(2, 24, 32)
    grouped = lambda proj, x: F.scaled_dot_product_attention(heads(proj(x), 8, 4), heads(x, 2, 4), heads(x, 2, 4), enable_gqa=True)
    yield "grouped queries", Calls(grouped, nn.Linear(32, 32)), torch.randn(2, 24, 32)
    yield "decoder", Calls(lambda layer, x: layer(x, x), nn.TransformerDecoderLayer(32, 4, 64, batch_first=True)), torch.randn(2, 10, 32)
    yield "sums of products", Calls(lambda layer, x: torch.einsum("bhid,bhjd->bhij", layer(x), x), nn.Linear(16, 16)), torch.randn(2, 3, 5, 16)
    yield "padded", nn.Sequential(nn.Conv1d(2, 8, 5, padding="same", dilation=2), nn.Conv1d(8, 4, 4, padding="same")), torch.randn(3, 2, 50)
    yield "transposed film", nn.ConvTranspose3d(4, 2, 3, stride=2), torch.randn(1, 4, 5, 5, 5)
    yield "gated units", Calls(lambda layer, x: layer(x)[0], nn.GRU(8, 16, num_layers=2, bidirectional=True)), torch.randn(5, 3, 8)
    yield "short floats", nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(8 * 36, 4)).bfloat16(), torch.randn(2, 3, 8, 8).bfloat16()
    yield "two products", nn.Bilinear(6, 7, 5), (torch.randn(3, 6), torch.randn(3, 7))


def run(model, inputs, backward):
    result = model(*inputs) if isinstance(inputs, tuple) else model(inputs)
    result = result[0] if isinstance(result, tuple) else result
    if backward:
        result.float().sum().backward()


def ours(program, path):
    command = [program, "op", path, "-step", "all", "-select", "float_ops", "-max_depth", "10000", "-output", "json:outfile=-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = {row["name"]: row["self"]["float_ops"] for row in json.loads(done.stdout)["rows"][1:]}
    return {name: flops for name, flops in rows.items() if flops and any(word in name for word in PRODUCTS) and "mse" not in name}


def record(model, inputs, backward, path):
    run(model, inputs, backward)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        run(model, inputs, backward)
    prof.export_chrome_trace(str(path))


def main(program, directory):
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, model, inputs in models():
        for backward in (False, True):
            model.train()
            run(model, inputs, backward)
            with FlopCounterMode(display=False) as counter:
                run(model, inputs, backward)
            path = directory / f"{name.replace(' ', '_')}_{'backward' if backward else 'forward'}.json"
            record(model, inputs, backward, path)
            rows = ours(program, path)
            told = counter.get_total_flops()
            if name == "grouped" and backward:
                # The counter ignores groups in the gradient of a filter. As much as forward for each gradient; the
                # first convolution needs none of its input.
                forward = [2 * 2 * 16 * 14 * 14 * inner for inner in (4 * 9, 16, 1 * 9, 16)]
                told = 3 * sum(forward) - forward[0]
            if name == "two products":
                # The counter does not know it: the first product, then the second; backward, the filter's gradient.
                told = 2 * 3 * 6 * 7 * 5 * (1 + backward) + 2 * 3 * 7 * 5
            same = sum(rows.values()) == told
            failed += not same
            print(f"{'ok' if same else 'FAILED':7}{name}{', backward' if backward else ''}: tfprof {sum(rows.values()):,}, torch {told:,}")
            if not same:
                print("       ", rows, {str(op): n for op, n in counter.get_flop_counts()["Global"].items()})
    steps, batch, features, hidden = 7, 3, 16, 32
    gates = {"LSTM": 4, "GRU": 3}
    for kind, count in gates.items():
        path = directory / f"{kind}.json"
        record(getattr(nn, kind)(features, hidden), torch.randn(steps, batch, features), False, path)
        hand = 2 * steps * batch * count * hidden * (features + hidden)
        rows = ours(program, path)
        failed += sum(rows.values()) != hand
        print(f"{'ok' if sum(rows.values()) == hand else 'FAILED':7}{kind} by hand: tfprof {sum(rows.values()):,}, {hand:,}", rows if sum(rows.values()) != hand else "")
    layers, both = 2, 2
    path = directory / "LSTM_both_ways.json"
    record(nn.LSTM(features, hidden, num_layers=layers, bidirectional=True), torch.randn(steps, batch, features), True, path)
    once = 2 * steps * batch * 4 * hidden * both * ((features + hidden) + (both * hidden + hidden))
    # Forward, the gradients of the inputs, and those of the weights.
    same = sum(ours(program, path).values()) == 3 * once
    failed += not same
    print(f"{'ok' if same else 'FAILED':7}LSTM of two layers both ways, backward, by hand: tfprof {sum(ours(program, path).values()):,}, {3 * once:,}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
