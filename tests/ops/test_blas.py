"""Whatever has NumPy use BLAS says so: BLAS ends the process where it finds no memory."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import ndarray_rt

PACKAGE = Path(ndarray_rt.__file__).parent
# they compare in tests, and run beside nothing else
APART = ("testing", "test_utils", "_stubs")
FUNCTIONS = {"matmul", "dot", "tensordot", "inner", "vdot", "cov", "corrcoef"}


def uses_blas(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    module, name = ast.unparse(node.func.value), node.func.attr
    if name == "einsum":
        return any(given.arg == "optimize" for given in node.keywords)
    return module.endswith(".linalg") or (module == "np" and name in FUNCTIONS)


def is_said(function: ast.FunctionDef) -> bool:
    return "uses_blas" in [ast.unparse(decorator) for decorator in function.decorator_list]


def outside(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in no function that says it uses BLAS."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.FunctionDef) and is_said(child)):
            yield child
            yield from outside(child)


def test_each_function_with_a_product_says_so() -> None:
    missing = []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] in APART or place == Path("ops", "blas.py"):
            continue
        missing += [f"{place}:{getattr(node, 'lineno', 0)}"
                    for node in outside(ast.parse(path.read_text())) if uses_blas(node)]
    assert missing == []


def test_scipy_is_not_loaded_without_room() -> None:
    """OpenBLAS waits for ever where it finds no memory for its threads while it is loaded."""
    program = textwrap.dedent("""
        import resource
        import ndarray_rt as mx
        from ndarray_rt.errors import OutOfMemory
        x = mx.nd.ones((64, 64))
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (60 << 20),) * 2)
        try:
            mx.nd.linalg.trsm(x, x)
        except OutOfMemory as error:
            print(error)
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=120)
    assert "trsm: no memory for BLAS" in done.stdout, done.stderr
