"""The floors of the package and of its C code: who knows what and when; and files are short."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ndarray_rt
from ndarray_rt import operator_index

ROOT = Path(ndarray_rt.__file__).parent
REPOSITORY = ROOT.parent
LONGEST = 500

# folder or module of the package -> floor; within a floor, later ranks may import earlier ones
FLOORS = {
    "fork": 0.0, "markup": 0.0, "value_key": 0.0, "_native": 0.0,
    "collector": 0.02, "public": 0.03, "errors": 0.05,
    "dtypes": 0.1, "config": 0.1, "np_shape": 0.1,
    "native": 0.2, "cpu_level": 0.3, "context": 0.3, "precision": 0.4,
    "storage": 1.0,
    "_array": 2.0,
    "op": 3.0, "ops": 3.1,
    "capture": 3.2,
    "symbol": 4.0, "passes": 4.1, "executor": 4.2, "imperative": 4.3,
}
FRONT = 5.0
# floor 0 looks down for one thing: giving cached memory back, imported when it is asked for
ALLOWED = {("context", "storage")}

# what takes long to import, and what most programs, or most of their starts, do without
LEFT = frozenset((
    "ctypes.util", "difflib", "email", "hashlib", "html", "importlib.metadata", "json", "pathlib",
    "secrets", "shutil", "statistics", "subprocess", "tempfile", "urllib", "zipfile",
    "ml_dtypes", "scipy", "hypothesis", "matplotlib", "torch", "tqdm", "onnx",
    "ndarray_rt.executor", "ndarray_rt.passes", "ndarray_rt.imperative.cached_op",
    "ndarray_rt.contrib", "ndarray_rt.debug", "ndarray_rt.engine", "ndarray_rt.io",
    "ndarray_rt.imperative.custom", "ndarray_rt.imperative.subgraph_ops", "ndarray_rt.model_zoo",
    "ndarray_rt.operator", "ndarray_rt.ops", "ndarray_rt.test_utils", "ndarray_rt.testing"))

MODULES = sorted(ROOT.rglob("*.py"))
IDS = [str(path.relative_to(ROOT)) for path in MODULES]


def place(parts: tuple[str, ...]) -> tuple[str, float]:
    """The folder (or module) directly in the package, and its floor."""
    name = parts[0] if parts else "__init__"
    return name, FLOORS.get(name, FRONT)


def parts_of(path: Path) -> tuple[str, ...]:
    """('storage', 'chunk') of ndarray_rt/storage/chunk.py."""
    return path.relative_to(ROOT).with_suffix("").parts


def imports(path: Path) -> list[tuple[tuple[str, ...], int, bool]]:
    """(target inside the package, line, only for types) of every import of the package."""
    found = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {id(node) for block in ast.walk(tree) if isinstance(block, ast.If)
              and getattr(block.test, "id", getattr(block.test, "attr", "")) == "TYPE_CHECKING"
              for node in ast.walk(block)}
    own = parts_of(path)
    node: Any
    for node in ast.walk(tree):
        targets: list[tuple[str, ...]] = []
        if isinstance(node, ast.Import):
            targets = [tuple(alias.name.split(".")) for alias in node.names]
            targets = [t[1:] for t in targets if t[0] == "ndarray_rt"]
        elif isinstance(node, ast.ImportFrom):
            module = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                package = own[: len(own) - node.level]
                module = (*package, *module)
            elif module[:1] == ("ndarray_rt",):
                module = module[1:]
            else:
                continue
            targets = [(*module, alias.name) for alias in node.names] if not module else [module]
        found += [(target, node.lineno, id(node) in typing) for target in targets if target]
    return found


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_imports_go_down(path: Path) -> None:
    name, floor = place(parts_of(path))
    wrong = []
    for target, line, only_types in imports(path):
        other, other_floor = place(target)
        if other_floor > floor and not only_types and (name, other) not in ALLOWED:
            wrong.append(f"line {line}: {name} (floor {floor:g}) imports {'.'.join(target)} "
                         f"(floor {other_floor:g})")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_only_native_touches_the_extension(path: Path) -> None:
    """`_native` is loaded after oneDNN, by native.py alone."""
    if parts_of(path) == ("native",):
        return
    for target, line, _ in imports(path):
        assert "_native" not in target, f"line {line} imports the extension past native.py"


def sources() -> list[Path]:
    found = [*ROOT.rglob("*.py"), *(REPOSITORY / "tests").rglob("*.py")]
    for folder in ("native", "include", "benchmarks", "examples"):
        found += [p for p in (REPOSITORY / folder).rglob("*") if p.suffix in (".py", ".c", ".h")]
    # other runtimes, and what they generate, lie in hidden folders
    return sorted(p for p in found if not any(part.startswith(".")
                                              for part in p.relative_to(REPOSITORY).parts))


def test_files_are_short() -> None:
    counts = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    long = {str(path.relative_to(REPOSITORY)): n for path, n in counts.items() if n > LONGEST}
    assert not long, f"longer than {LONGEST} lines: {long}"


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_module_says_what_it_holds(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_environment_is_read_by_config_alone(path: Path) -> None:
    if parts_of(path) == ("config",):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv"):
            raise AssertionError(f"line {node.lineno} reads the environment past config.py")


def test_what_is_not_needed_is_not_imported() -> None:
    # modules that the interpreter itself begins with do not count
    program = ("import sys; sys.modules.pop('pathlib', None)\n"
               "import numpy, threading, dataclasses, _cffi_backend; before = set(sys.modules)\n"
               "import ndarray_rt; print(*set(sys.modules) - before)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True)
    loaded = done.stdout.split()
    assert "ndarray_rt.nd" in loaded
    too_much = {name for name in loaded
                if any(name == left or name.startswith(f"{left}.") for left in LEFT)}
    assert not too_much


def test_the_index_of_operators_is_what_modules_register() -> None:
    """What is not in the index is not found; `make docs` writes it."""
    done = subprocess.run([sys.executable, REPOSITORY / "docs" / "operator_index.py", "--print"],
                          capture_output=True, text=True, check=True)
    assert done.stdout == Path(operator_index.__file__).read_text(encoding="utf-8"), "make docs"


def test_the_rule_sees_an_upward_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above is no use if it can not fail."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "storage").mkdir()
    bad = tmp_path / "storage" / "bad.py"
    bad.write_text("from ..op.registry import find\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"imports op\.registry"):
        test_imports_go_down(bad)


# ---- native -------------------------------------------------------------------------------------

# folder of native/ -> floor: it knows itself and those below it; headers beside them are of the
# lowest floor
NATIVE_FLOORS = {"runtime": 0, "onednn": 1, "kernels": 2, "interop": 2, "replay": 3}
C_FILES = sorted(path for folder in ("native", "include")
                 for path in (REPOSITORY / folder).rglob("*.[ch]"))
C_IDS = [path.relative_to(REPOSITORY).as_posix() for path in C_FILES]


def native_place(path: Path, root: Path) -> tuple[str, int]:
    """The folder of native/ that a file is in, and its floor; include/ is below all."""
    parts = path.resolve().relative_to(root.resolve()).parts
    if parts[0] != "native":
        return "include", -1
    folder = parts[1] if len(parts) > 2 else ""
    return folder, NATIVE_FLOORS[folder] if folder else 0


def includes(path: Path, root: Path) -> list[Path]:
    """Headers of this project that a file includes, as the compiler finds them."""
    found = []
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M):
        tried = [folder / name for folder in (path.parent, root / "include", root / "native")]
        found += [header.resolve() for header in tried if header.exists()][:1]
    return found


def knows_above(own: Path, other: Path, root: Path) -> bool:
    """Whether a file that reads or calls this other one looks up, or beside its own folder."""
    (folder, floor), (other_folder, other_floor) = (native_place(p, root) for p in (own, other))
    return other_floor > floor or (other_floor == floor > 0 and other_folder != folder)


def code_of(path: Path) -> str:
    """A file without comments and strings."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\])*"', '""', text)


def functions_of(files: list[Path]) -> dict[str, Path]:
    """Functions that other files can call, and where they are defined."""
    defined = re.compile(r"^(?!static\b|typedef\b)\w[\w *]*?\b(ndrt_\w+)\([^;{}]*\)\s*\{", re.M)
    return {name: path for path in files for name in defined.findall(code_of(path))}


def upward_calls(files: list[Path], root: Path) -> list[str]:
    functions, wrong = functions_of(files), []
    for path in files:
        if path.suffix != ".c":
            continue
        wrong += [f"{path.relative_to(root)} calls {name} of {functions[name].relative_to(root)}"
                  for name in sorted(set(re.findall(r"\bndrt_\w+", code_of(path))))
                  if name in functions and knows_above(path, functions[name], root)]
    return wrong


def circle_of(files: list[Path], root: Path) -> list[Path]:
    """Headers that include each other round and round; none: []."""
    done: set[Path] = set()

    def look(path: Path, above: list[Path]) -> list[Path]:
        if path in above:
            return [*above[above.index(path):], path]
        if path not in done:
            for header in includes(path, root):
                if circle := look(header, [*above, path]):
                    return circle
            done.add(path)
        return []
    return next(filter(None, (look(path, []) for path in files)), [])


@pytest.mark.parametrize("path", C_FILES, ids=C_IDS)
def test_native_includes_go_down(path: Path) -> None:
    wrong = [header.as_posix() for header in includes(path, REPOSITORY)
             if knows_above(path, header, REPOSITORY)]
    assert not wrong


def test_native_calls_go_down() -> None:
    assert len(functions_of(C_FILES)) > 200
    assert not upward_calls(C_FILES, REPOSITORY)


def test_headers_include_each_other_in_no_circle() -> None:
    assert not circle_of(C_FILES, REPOSITORY)


def test_the_rules_see_what_is_wrong_in_native(tmp_path: Path) -> None:
    texts = {
        "native/replay/plan.h": '#include "onednn/prim.h"\n',
        "native/onednn/prim.h": '#include "../replay/plan.h"\n',
        "native/kernels/sum.c": '#include "interop/dl.h"\nint ndrt_sum(void) { ndrt_replay(1); }\n',
        "native/interop/dl.h": "",
        "native/replay/plan.c": "int ndrt_replay(int n) {\n    return n;\n}\n",
        "native/runtime/fork.c": "/* ndrt_replay */ void ndrt_fork(void) { ndrt_sum(); }\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [tmp_path / name for name in texts]
    assert upward_calls(files, tmp_path) == [
        "native/kernels/sum.c calls ndrt_replay of native/replay/plan.c",
        "native/runtime/fork.c calls ndrt_sum of native/kernels/sum.c"]
    assert [knows_above(path, header, tmp_path) for path in files
            for header in includes(path, tmp_path)] == [False, True, True]
    assert len(circle_of(files, tmp_path)) == 3
