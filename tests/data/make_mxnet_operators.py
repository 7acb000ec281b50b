"""Writes mxnet_operators.json. Run with the real MXNet 1.9.1: python make_mxnet_operators.py

For each name under which MXNet knows an operator: its real name, its inputs, its parameters with
their defaults (null: required), the parameter that counts its inputs. Operators of numpy mode, of
backward graphs, of subgraphs and of quantization are left out.
"""

import ctypes
import json
import pathlib
import re
from typing import Any

import mxnet  # noqa: F401 - loads the library
from mxnet.base import _LIB, OpHandle, c_str, check_call, py_str

LEFT_OUT = ("_np", "_backward", "_npx", "_sg_", "_contrib_quantized", "_broadcast_backward",
            "_sparse_", "_contrib_tvm", "_contrib_intgemm", "_contrib_dgl", "_cv")


def strings(pointer: Any, count: int) -> list[str]:
    return [py_str(pointer[i]) for i in range(count)]


def describe(name: str) -> dict[str, Any]:
    handle = OpHandle()
    check_call(_LIB.NNGetOpHandle(c_str(name), ctypes.byref(handle)))
    real, text, counter, kind = (ctypes.c_char_p() for _ in range(4))
    number = ctypes.c_uint()
    names, types, docs = (ctypes.POINTER(ctypes.c_char_p)() for _ in range(3))
    check_call(_LIB.MXSymbolGetAtomicSymbolInfo(
        handle, *map(ctypes.byref, (real, text, number, names, types, docs, counter, kind))))
    inputs, params = [], {}
    arguments = zip(strings(names, number.value), strings(types, number.value), strict=True)
    for arg, what in arguments:
        if what.startswith(("NDArray", "Symbol")):
            inputs.append("*" + arg if "[]" in what else arg)
        else:
            found = re.search(r"default=(.*)$", what)
            params[arg] = found.group(1).strip("'") if found else None
    return {"name": py_str(real.value), "inputs": inputs, "params": params,
            "count": py_str(counter.value)}


def main() -> None:
    names, size = ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_uint()
    check_call(_LIB.MXListAllOpNames(ctypes.byref(size), ctypes.byref(names)))
    found = {name: describe(name) for name in sorted(strings(names, size.value))
             if not name.startswith(LEFT_OUT)}
    lines = [f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in found.items()]
    path = pathlib.Path(__file__).with_name("mxnet_operators.json")
    path.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
