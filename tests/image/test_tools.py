"""Lists and files of records made by the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ndarray_rt import recordio
from ndarray_rt.tools import im2rec, rec2idx

from .pictures import drawn

pytest.importorskip("PIL")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number, name in enumerate(("b/0.png", "b/1.PNG", "a/2.png", "a/deep/3.png", "4.png")):
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        record = recordio.pack_img((0, 0, 0, 0), drawn(30, 40, 20 * number), img_fmt=".png")
        path.write_bytes(recordio.unpack(record)[1])
    (tmp_path / "root" / "a" / "notes.txt").write_text("no image")
    return tmp_path / "root"


def lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_lists_of_folders(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    im2rec.main(["--list", "--recursive", "--no-shuffle", str(tmp_path / "all"), str(root)])
    assert lines(tmp_path / "all.lst") == [
        ["0", "0.000000", "4.png"], ["1", "1.000000", "a/2.png"],
        ["2", "2.000000", "a/deep/3.png"], ["3", "3.000000", "b/0.png"],
        ["4", "3.000000", "b/1.PNG"]]
    assert capsys.readouterr().out.split() == [".", "0", "a", "1", "a/deep", "2", "b", "3"]
    im2rec.main(["--list", str(tmp_path / "flat"), str(root)])
    assert lines(tmp_path / "flat.lst") == [["0", "0.000000", "4.png"]]
    im2rec.main(["--list", "--recursive", str(tmp_path / "mixed"), str(root)])
    # the order that MXNet's tool gives five images
    assert [line[0] for line in lines(tmp_path / "mixed.lst")] == MIXED


MIXED = ["2", "0", "4", "3", "1"]


def test_parts(root: Path, tmp_path: Path) -> None:
    im2rec.main(["--list", "--recursive", "--no-shuffle", "--train-ratio", "0.4", "--test-ratio",
                 "0.2", str(tmp_path / "all"), str(root)])
    parts = {part: [line[0] for line in lines(tmp_path / f"all_{part}.lst")]
             for part in ("test", "train", "val")}
    assert parts == {"test": ["0"], "train": ["1", "2"], "val": ["3", "4"]}
    im2rec.main(["--list", "--recursive", "--no-shuffle", "--chunks", "2",
                 str(tmp_path / "two"), str(root)])
    assert [len(lines(tmp_path / f"two_{i}.lst")) for i in range(2)] == [3, 2]


def written(prefix: Path, *options: str) -> list[tuple[Any, np.ndarray[Any, Any]]]:
    assert im2rec.main([*options, str(prefix), str(prefix.parent / "root")]) == 0
    reader = recordio.MXIndexedRecordIO(f"{prefix}.idx", f"{prefix}.rec", "r")
    return [recordio.unpack_img(reader.read_idx(key) or b"") for key in reader.keys]


def test_records(root: Path, tmp_path: Path) -> None:
    (tmp_path / "some.lst").write_text("7\t1\t2\tb/0.png\n9\t3\t4\ta/deep/3.png\n")
    for threads in ("1", "3"):
        found = written(tmp_path / "some", "--encoding", ".png", "--num-thread", threads)
        assert [(header.id, header.label) for header, _ in found] == [(7, 1.0), (9, 3.0)]
        for (_, image), number in zip(found, (0, 3), strict=True):
            assert (image == drawn(30, 40, 20 * number)).all()
    (header, _), _ = written(tmp_path / "some", "--pack-label")
    assert header.label.tolist() == [1, 2]
    for options, shape in (((), (30, 40, 3)), (("--resize", "15"), (15, 20, 3)),
                           (("--center-crop",), (30, 30, 3)),
                           (("--center-crop", "--resize", "50"), (50, 50, 3)),
                           (("--color", "0"), (30, 40)), (("--color", "-1"), (30, 40, 3))):
        assert written(tmp_path / "some", "--quality", "80", *options)[0][1].shape == shape
    written(tmp_path / "some", "--pass-through")
    reader = recordio.MXRecordIO(str(tmp_path / "some.rec"), "r")
    assert recordio.unpack(reader.read() or b"")[1] == (root / "b" / "0.png").read_bytes()


def test_what_can_not_be_packed_is_told(root: Path, tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "some.lst").write_text(
        "0\t1\tnone.png\n1\t1\ta/notes.txt\nno line\n2\tx\tb/0.png\n3\t1\tb/0.png\n")
    assert [header.id for header, _ in written(tmp_path / "some")] == [3]
    told = capsys.readouterr()
    assert "1 images" in told.out
    for text in ("none.png: No such file", "notes.txt", "line 3: expected at least 3", "line 4: "):
        assert text in told.err
    assert im2rec.main([str(tmp_path / "nothing"), str(root)]) == 1
    with pytest.raises(SystemExit):
        im2rec.main(["--chunks", "0", str(tmp_path / "nothing"), str(root)])


def test_command_lines(root: Path, tmp_path: Path) -> None:
    (tmp_path / "some.lst").write_text("0\t1\tb/0.png\n1\t1\ta/2.png\n")
    for module, arguments in (("im2rec", ["some", "root"]),
                              ("rec2idx", ["some.rec", "again.idx"])):
        subprocess.run([sys.executable, "-m", f"ndarray_rt.tools.{module}", *arguments],
                       cwd=tmp_path, check=True)
    assert (tmp_path / "again.idx").read_text() == (tmp_path / "some.idx").read_text()
    assert rec2idx.main([str(tmp_path / "some.rec"), str(tmp_path / "third.idx")]) == 0
