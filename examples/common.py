"""What the examples share: their arguments, a progress bar, held-out data, pictures."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

import ndarray_rt as mx


def arguments(doc: str, epochs: int) -> argparse.Namespace:
    """What the command line says, after it has been put into effect."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="1 is best for networks this small")
    parser.add_argument("--out", type=Path, help="folder for a picture (needs matplotlib)")
    args = parser.parse_args()
    mx.set_num_threads(args.threads)
    mx.random.seed(args.seed)
    np.random.seed(args.seed)
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
    return args


def progress(items: Iterable, text: str) -> Iterator:
    """The items with a progress bar: tqdm's where it is installed, else a line of our own."""
    items = list(items) if not hasattr(items, "__len__") else items
    try:
        from tqdm import tqdm
    except ImportError:
        for number, item in enumerate(items, 1):
            yield item
            if number % 8 == 0 or number == len(items):
                print(f"\r{text} {number}/{len(items)}", end="", flush=True)
        print()
        return
    yield from tqdm(items, desc=text, leave=False)


def stratified(labels: np.ndarray, seed: int, test_share: float = 0.2,
               ) -> tuple[np.ndarray, np.ndarray]:
    """Positions for (training, test), drawn by `seed`, with the same share of each class."""
    draw, train, test = np.random.default_rng(seed), [], []
    for label in np.unique(labels):
        order = draw.permutation(np.flatnonzero(labels == label))
        cut = round(len(order) * (1 - test_share))
        train.append(order[:cut])
        test.append(order[cut:])
    return draw.permutation(np.concatenate(train)), draw.permutation(np.concatenate(test))


def _pyplot(path: Path) -> object:
    """matplotlib's pyplot, or None, after saying that there will be no picture."""
    try:
        import matplotlib
    except ImportError:
        print(f"{path.name} was not drawn: matplotlib is not installed (pip install "
              "'ndarray_rt[plot]')")
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot
    return pyplot


def draw_curves(path: Path, title: str, panels: Mapping[str, Mapping[str, Sequence[float]]],
                ) -> None:
    """Writes a PNG: for each panel, by the name of its vertical axis, lines over epochs."""
    pyplot = _pyplot(path)
    if pyplot is None:
        return
    figure, axes = pyplot.subplots(1, len(panels), figsize=(4.5 * len(panels), 3.6), squeeze=False,
                                   layout="constrained")
    for panel, (name, lines) in zip(axes[0], panels.items(), strict=True):
        for (label, values), colour in zip(lines.items(), ("#30638e", "#d1495b"), strict=False):
            panel.plot(range(1, len(values) + 1), values, marker="o", color=colour, label=label)
        panel.set(xlabel="epoch", ylabel=name, yscale="log" if "loss" in name else "linear")
        if len(lines) > 1:
            panel.legend(frameon=False)
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
        panel.xaxis.get_major_locator().set_params(integer=True)
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    print(f"picture: {path}")


def draw_images(path: Path, title: str, images: np.ndarray, columns: int = 12) -> None:
    """Writes a PNG of images (n, height, width) or (n, height, width, 3) within [0, 1]."""
    pyplot = _pyplot(path)
    if pyplot is None:
        return
    rows = -(-len(images) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(columns * 0.7, rows * 0.7 + 0.4),
                                   squeeze=False, layout="constrained")
    for panel in axes.ravel():
        panel.axis("off")
    for panel, image in zip(axes.ravel(), images, strict=False):
        panel.imshow(np.clip(image, 0, 1), cmap="gray_r", vmin=0, vmax=1)
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    print(f"picture: {path}")
