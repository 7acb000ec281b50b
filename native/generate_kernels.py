"""Writes what follows from the table of native kernels (`make docs`): C headers and Python modules.

- `include/ndrt_kernel_ids.h`: the enumeration;
- `native/kernels/table/ndrt_families.h`: which family computes which;
- `native/kernels/<folder>/ndrt_args.h`: what each is given, as a structure;
- `ndarray_rt/storage/kernels/<folder>.py`: a function for each that makes a call of it.

With `--check` it writes nothing, and fails where a file is not what it would write.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel_row import Kernel
from kernel_table import FOLDERS, KERNELS, WIDE_FAMILIES

ROOT = Path(__file__).resolve().parent.parent
MADE = "Written by `make docs` from native/kernel_table.py."
AS_IT_IS = "/* clang-format off */\n"
MOST_ARRAYS, MOST_COUNTS, MOST_NUMBERS = 10, 20, 8
TYPES = {"f32": "float", "f64": "double", "s32": "int32_t", "s64": "int64_t", "u32": "uint32_t",
         "u8": "uint8_t", "any": "void", "random": "ndrt_random"}


@dataclass(frozen=True)
class Field:
    """A name of a row, its type, the marks before it and how many of it there are (0: one)."""

    name: str
    type: str
    mark: str = ""
    optional: bool = False
    most: int = 0

    @property
    def width(self) -> int:
        return self.most or 1


def fields(text: str, default: str) -> list[Field]:
    made = []
    for word in text.split():
        mark = word[0] if word[0] in ">=#" else ""
        name, _, most = word.removeprefix(mark).partition("*")
        optional = name.endswith("?")
        name, _, kind = name.removesuffix("?").partition(":")
        if mark == "#":
            name, kind = f"n{name}", "int"
        made.append(Field(name, kind or default, mark, optional, int(most or 0)))
    return made


@dataclass(frozen=True)
class Row:
    """A kernel with its fields, each with its place."""

    kernel: Kernel
    arrays: list[Field]
    counts: list[Field]
    numbers: list[Field]


def row(kernel: Kernel) -> Row:
    made = Row(kernel, fields(kernel.arrays, "f32"), fields(kernel.counts, "int64"),
               fields(kernel.numbers, "f32"))
    for found, most in ((made.arrays, MOST_ARRAYS), (made.counts, MOST_COUNTS),
                        (made.numbers, MOST_NUMBERS)):
        total = sum(field.width for field in found)
        assert total <= most, f"{kernel.name}: {total} where {most} fit"
    names = [field.name for field in (*made.arrays, *made.counts, *made.numbers)]
    assert len(names) == len(set(names)), f"{kernel.name}: {names}"
    return made


def folder_of(kernel: Kernel) -> str:
    return next(folder for folder, families in FOLDERS.items() if kernel.family in families)


# ---- C ------------------------------------------------------------------------------------------


def enumeration() -> str:
    names = [f"    NDRT_KERNEL_{kernel.name.upper()} = {i + 1},\n"
             for i, kernel in enumerate(KERNELS)]
    return (f"/* The native kernels. {MADE} */\n" + AS_IT_IS +
            "#ifndef NDRT_KERNEL_IDS_H\n#define NDRT_KERNEL_IDS_H\n\n/* cdef-begin */\n"
            f"enum {{ NDRT_KERNEL_ARRAYS = {MOST_ARRAYS}, NDRT_KERNEL_COUNTS = {MOST_COUNTS}, "
            f"NDRT_KERNEL_NUMBERS = {MOST_NUMBERS} }};\n"
            "typedef enum {\n" + "".join(names).rstrip(",\n") + "\n} ndrt_kernel_id;\n"
            "/* cdef-end */\n\n#endif\n")


def families() -> str:
    def line(kernel: Kernel) -> str:
        return f"[NDRT_KERNEL_{kernel.name.upper()}] = &ndrt_family_{kernel.family},\n"

    wide = [kernel for kernel in KERNELS if kernel.family in WIDE_FAMILIES]
    named = list(dict.fromkeys(kernel.family for kernel in KERNELS))
    return (f"/* Which family computes which kernel. {MADE} */\n" + AS_IT_IS
            + "".join(f"extern const ndrt_family ndrt_family_{name};\n" for name in named)
            + "\n#define NDRT_FAMILIES \\\n"
            + joined(line(kernel) for kernel in KERNELS if kernel not in wide)
            + "\n#define NDRT_WIDE_FAMILIES \\\n" + joined(map(line, wide)))


def joined(lines: Iterable[str]) -> str:
    return " \\\n".join(f"    {line.strip()}" for line in lines) + "\n"


def declared(field: Field) -> str:
    if field.most:
        return f"const int64_t *{field.name}"
    return {"int64": "int64_t ", "int": "int ", "flag": "int ", "f32": "float ",
            "f64": "double "}[field.type] + field.name


def array_type(field: Field) -> str:
    const = "" if field.mark else "const "
    stars = "*const *" if field.most else "*"
    return f"{const}{TYPES[field.type]} {stars}"


def places(found: list[Field]) -> Iterator[tuple[Field, int]]:
    at = 0
    for field in found:
        yield field, at
        at += field.width


def lines_of(words: Iterable[str], indent: str) -> list[str]:
    """Words, which may have blanks in them, in lines of up to 100 characters."""
    text = " ".join(word.replace(" ", "\0") for word in words)
    return [line.replace("\0", " ") for line in textwrap.wrap(
        text, 100, initial_indent=indent, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False)]


def accessor(made: Row) -> str:
    name = made.kernel.name
    lines = textwrap.wrap(f"/* {made.kernel.doc or name} */", 100, subsequent_indent=" * ")
    lines.append("typedef struct {")
    lines += lines_of([
        *(f"{array_type(field)}{field.name};" for field in made.arrays),
        *(f"{declared(field)};" for field in made.counts),
        *(f"{f'const double *{field.name}' if field.most else declared(field)};"
          for field in made.numbers)], "    ")
    lines += [f"}} ndrt_{name}_args;",
              f"static inline ndrt_{name}_args ndrt_read_{name}(const ndrt_kernel_call *call) {{"]
    if made.numbers:
        lines.append("    const double *numbers = "
                     "call->parameters ? call->parameters : call->numbers;")
    values = []
    for field, at in places(made.arrays):
        values.append((field, f"({array_type(field)})(void *)&call->data[{at}]" if field.most
                       else f"call->data[{at}]"))
    for field, at in places(made.counts):
        values.append((field, f"&call->counts[{at}]" if field.most else f"call->counts[{at}]" if
                       field.type == "int64" else f"ndrt_int_of(call->counts[{at}])"))
    for field, at in places(made.numbers):
        values.append((field, f"&numbers[{at}]" if field.most else
                       f"(float)numbers[{at}]" if field.type == "f32" else f"numbers[{at}]"))
    lines += [f"    return (ndrt_{name}_args){{",
              *lines_of((f".{field.name} = {value}," for field, value in values), "        ")]
    return "\n".join([*lines, "    };", "}"])


def arguments(folder: str, rows: list[Row]) -> str:
    guard = f"NDRT_ARGS_{folder.upper()}_H"
    return (f"/* What the kernels of this folder are given. {MADE} */\n" + AS_IT_IS +
            f"#ifndef {guard}\n#define {guard}\n\n#include \"kernels/ndrt_kernel.h\"\n\n"
            + "\n\n".join(map(accessor, rows)) + "\n\n#endif\n")


# ---- Python -------------------------------------------------------------------------------------


def wrapped(first: str, words: Iterable[str], end: str, indent: int) -> str:
    """Words with commas between, in lines of up to 100 characters behind the bracket."""
    text = first + ", ".join(words) + end.replace(" ", "\0")
    pad = " " * len(first) if len(first) < 40 else " " * (indent + 4)
    return textwrap.fill(text, 100, subsequent_indent=pad, break_long_words=False,
                         break_on_hyphens=False).replace("\0", " ")


def annotation(field: Field, plain: str) -> str:
    if field.most:
        return f"{field.name}: Sequence[{plain}]"
    plain = "bool" if field.type == "flag" else plain
    if not field.optional:
        return f"{field.name}: {plain}"
    absent = {"Mem": " | None = None", "int": " = 0", "bool": " = False",
              "float": " = 0.0"}[plain]
    return f"{field.name}: {plain}{absent}"


def packed(found: list[Field]) -> str:
    """A tuple of the fields, each at its place; those of which there may be fewer end it or are
    whole."""
    words = [f"len({field.name[1:]})" if field.mark == "#" else
             f"*{field.name}" if field.most else field.name for field in found]
    return f"({', '.join(words)}{',' if len(words) == 1 else ''})"


def function(made: Row) -> str:
    kernel = made.kernel
    given = [annotation(field, "Mem") for field in made.arrays]
    given += [annotation(field, "int") for field in made.counts if field.mark != "#"]
    given += [annotation(field, "float") for field in made.numbers]
    doc = kernel.doc or f"A call of {kernel.name}."
    # the places of what stands behind depend on them
    exact = [field for found in (made.arrays, made.counts, made.numbers) for field in found[:-1]
             if field.most]
    return "\n".join([
        wrapped(f"def {kernel.name}(", ["*", *(word.replace(" ", "\0") for word in given)],
                ") -> KernelCall:", 0),
        *textwrap.wrap(f'"""{doc}"""', 100, initial_indent="    ", subsequent_indent="    "),
        *(f"    assert len({field.name}) == {field.most}" for field in exact),
        wrapped("    return KernelCall(", [
            f"lib.NDRT_KERNEL_{kernel.name.upper()}", packed(made.arrays), packed(made.counts),
            packed(made.numbers)], ")", 4)])


def module(folder: str, rows: list[Row]) -> str:
    several = any(field.most for made in rows
                  for field in (*made.arrays, *made.counts, *made.numbers))
    sequences = "from collections.abc import Sequence\n\n" if several else ""
    return (f'"""Calls of the native kernels in native/kernels/{folder}/.\n\n{MADE}\n"""\n\n'
            f"from __future__ import annotations\n\n{sequences}from ...native import lib\n"
            "from ..kernel_call import KernelCall\nfrom ..stream import Mem\n\n\n"
            + "\n\n\n".join(map(function, rows)) + "\n")


# ---- all files ----------------------------------------------------------------------------------


def files() -> Iterator[tuple[Path, str]]:
    yield ROOT / "include" / "ndrt_kernel_ids.h", enumeration()
    yield ROOT / "native" / "kernels" / "table" / "ndrt_families.h", families()
    for folder in FOLDERS:
        rows = [row(kernel) for kernel in KERNELS if folder_of(kernel) == folder]
        yield ROOT / "native" / "kernels" / folder / "ndrt_args.h", arguments(folder, rows)
        yield ROOT / "ndarray_rt" / "storage" / "kernels" / f"{folder}.py", module(folder, rows)


def main() -> None:
    for path, text in files():
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{path.relative_to(ROOT)} is not what the table says: make docs")


if __name__ == "__main__":
    main()
