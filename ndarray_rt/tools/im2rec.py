"""Lists images of a folder, and packs listed images into a file of records with an index.

    python -m ndarray_rt.tools.im2rec --list --recursive --train-ratio 0.9 animals photos/
    python -m ndarray_rt.tools.im2rec --resize 256 --quality 90 animals photos/

The first writes animals_train.lst and animals_val.lst, the second a .rec and an .idx for each
list whose name begins with animals. Source: MXNet's tools/im2rec.py, whose options these are.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..errors import MXNetError
from ..image.codecs import decode
from ..ops.image.taps import LINEAR, resize
from ..recordio import IRHeader, MXIndexedRecordIO, pack, pack_img

SEED = 100  # of the lists' order
TOLD_EVERY = 1000


class Listed(NamedTuple):
    """A line of a list: number, labels, path below the root."""

    number: int
    labels: list[float]
    path: str


# ---- lists --------------------------------------------------------------------------------------


def images_in(root: str, recursive: bool, endings: Sequence[str]) -> list[Listed]:
    """Images in a folder, in the order of their names, with label 0; with `recursive` those in all
    folders below it, each folder with the next label, which is printed."""
    found: list[Listed] = []
    folders: dict[str, int] = {}
    for folder, below, files in os.walk(root, followlinks=True):
        below.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            if os.path.splitext(name)[1].lower() in endings and os.path.isfile(path):
                label = folders.setdefault(folder, len(folders)) if recursive else 0
                found.append(Listed(len(found), [float(label)], os.path.relpath(path, root)))
        if not recursive:
            break
    for folder, label in folders.items():
        print(os.path.relpath(folder, root), label)
    return found


def write_list(path: str, images: Iterable[Listed]) -> None:
    """A file of lines `number TAB label ... TAB path`."""
    with open(path, "w", encoding="utf-8") as file:
        for image in images:
            labels = "".join(f"{label:f}\t" for label in image.labels)
            file.write(f"{image.number}\t{labels}{image.path}\n")


def make_lists(options: argparse.Namespace) -> None:
    """Writes the lists of a folder: of all images, or of parts for training, testing, validating.
    """
    images = images_in(options.root, options.recursive, options.exts)
    if options.shuffle:
        random.Random(SEED).shuffle(images)
    each = -(-len(images) // options.chunks)
    for i in range(options.chunks):
        chunk = images[i * each:(i + 1) * each]
        name = options.prefix + (f"_{i}" if options.chunks > 1 else "")
        tested, trained = (int(each * ratio) for ratio in (options.test_ratio,
                                                           options.train_ratio))
        if options.train_ratio == 1.0:
            write_list(f"{name}.lst", chunk)
            continue
        if options.test_ratio:
            write_list(f"{name}_test.lst", chunk[:tested])
        if options.train_ratio + options.test_ratio < 1.0:
            write_list(f"{name}_val.lst", chunk[tested + trained:])
        write_list(f"{name}_train.lst", chunk[tested:tested + trained])


def read_list(path: str) -> Iterator[Listed]:
    """The lines of a list; those that are none are told and passed over."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = [word.strip() for word in line.strip().split("\t")]
            try:
                if len(words) < 3:
                    raise ValueError(f"expected at least 3 parts between tabs, got {len(words)}")
                yield Listed(int(words[0]), [float(word) for word in words[1:-1]], words[-1])
            except ValueError as error:
                print(f"{path}, line {number}: {error}", file=sys.stderr)


# ---- records ------------------------------------------------------------------------------------


def record_of(image: Listed, options: argparse.Namespace) -> bytes | None:
    """The record of an image; None, which is told, for one that can not be read."""
    labels: Any = image.labels if options.pack_label and len(image.labels) > 1 else image.labels[0]
    header = IRHeader(0, labels, image.number, 0)
    path = os.path.join(options.root, image.path)
    try:
        with open(path, "rb") as file:
            content = file.read()
        if options.pass_through:
            return pack(header, content)
        pixels = decode(content, options.color, to_rgb=False, what=path)
        return pack_img(header, fitted(pixels, options.center_crop, options.resize),
                        options.quality, options.encoding)
    except OSError as error:
        print(f"{path}: {error.strerror or error}", file=sys.stderr)
    except MXNetError as error:
        print(error, file=sys.stderr)
    return None


def fitted(pixels: Any, is_square: bool, size: int) -> Any:
    """The middle square of an image, if so; its shorter side `size` long, unless that is 0."""
    height, width = pixels.shape[:2]
    if is_square:
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        pixels = pixels[top:top + side, left:left + side]
        height = width = side
    if size:
        if height > width:
            width, height = size, height * size // width
        else:
            width, height = width * size // height, size
        pixels = resize(np.ascontiguousarray(pixels)[None], height, width, LINEAR)[0]
    return pixels


def write_records(path: str, options: argparse.Namespace) -> int:
    """Packs the images of a list, in its order; says how many it could."""
    base = os.path.splitext(path)[0]
    writer = MXIndexedRecordIO(f"{base}.idx", f"{base}.rec", "w")
    images = read_list(path)
    count = 0
    with ThreadPoolExecutor(options.num_thread) as threads:
        # some at a time, so that images wait on the disk and not in memory
        while block := list(islice(images, 64 * options.num_thread)):
            records = threads.map(record_of, block, [options] * len(block))
            for image, record in zip(block, records, strict=True):
                if record is None:
                    continue
                writer.write_idx(image.number, record)
                count += 1
                if count % TOLD_EVERY == 0:
                    print("images:", count)
    writer.close()
    return count


# ---- the command line ---------------------------------------------------------------------------


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    parser = argparse.ArgumentParser(
        prog="python -m ndarray_rt.tools.im2rec",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description="Make a list of images, or a file of records from lists.")
    parser.add_argument("prefix", help="what names of lists and records begin with")
    parser.add_argument("root", help="the folder of images")
    lists = parser.add_argument_group("lists")
    lists.add_argument("--list", action="store_true", help="write PREFIX.lst instead of records")
    lists.add_argument("--exts", nargs="+", default=[".jpeg", ".jpg", ".png"],
                       help="endings of images")
    lists.add_argument("--chunks", type=int, default=1, help="so many lists")
    lists.add_argument("--train-ratio", type=float, default=1.0, help="share for training")
    lists.add_argument("--test-ratio", type=float, default=0.0, help="share for testing")
    lists.add_argument("--recursive", action="store_true",
                       help="folders below ROOT, too; each has a label of its own")
    lists.add_argument("--no-shuffle", dest="shuffle", action="store_false",
                       help="in the order of names, not in a random one")
    records = parser.add_argument_group("records")
    records.add_argument("--pass-through", action="store_true", help="pack files as they are")
    records.add_argument("--resize", type=int, default=0, help="length of the shorter side")
    records.add_argument("--center-crop", action="store_true", help="the middle square only")
    records.add_argument("--quality", type=int, default=95,
                         help="of JPEG, 1 to 100; compression of PNG, 0 to 9")
    records.add_argument("--num-thread", type=int, default=1, help="so many threads")
    records.add_argument("--color", type=int, default=1, choices=(-1, 0, 1),
                         help="1 colour, 0 grey, -1 as the file is, with alpha")
    records.add_argument("--encoding", default=".jpg", choices=(".jpg", ".png"),
                         help="form of the packed images")
    records.add_argument("--pack-label", action="store_true",
                         help="pack all labels of an image, not the first one only")
    options = parser.parse_args(arguments)
    if options.chunks < 1 or options.num_thread < 1:
        parser.error("--chunks and --num-thread are numbers from 1 up")
    options.prefix, options.root = map(os.path.abspath, (options.prefix, options.root))
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; 0 where something was written."""
    options = parsed(arguments)
    if options.list:
        make_lists(options)
        return 0
    folder = options.prefix if os.path.isdir(options.prefix) else os.path.dirname(options.prefix)
    lists = sorted(path for name in os.listdir(folder) if name.endswith(".lst")
                   and (path := os.path.join(folder, name)).startswith(options.prefix))
    for path in lists:
        print(f"{path}: {write_records(path, options)} images")
    if not lists:
        print(f"Did not find a list with prefix {options.prefix}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
