"""Writes mxnet_gluon/. Run with the real MXNet 1.9.1: python make_mxnet_gluon.py

answers.npz: for each case of tests/gluon/cases.py all its numbers. net.params: what
`save_parameters` wrote of a small network; net-symbol.json and net-0000.params: what `export`
wrote; net.npz: an input and the network's output. trained.npz: what `train` of cases.py gives.
names.json: for each network of the model zoo the names of its parameters in order, as a SHA-1,
and their number.
"""

import hashlib
import importlib.util
import json
import pathlib
from typing import Any

import mxnet as mx
import numpy as np
from mxnet.gluon.model_zoo import vision

HERE = pathlib.Path(__file__).parent
OUT = HERE / "mxnet_gluon"
MODELS = [f"resnet{n}_v{v}" for n in (18, 34, 50, 101, 152) for v in (1, 2)]
MODELS += [f"vgg{n}{norm}" for n in (11, 13, 16, 19) for norm in ("", "_bn")]
MODELS += [f"densenet{n}" for n in (121, 161, 169, 201)]
MODELS += ["alexnet", "inceptionv3", "squeezenet1.0", "squeezenet1.1"]
MODELS += [f"mobilenet{kind}{width}" for kind in ("", "v2_") for width in ("1.0", "0.75", "0.5",
                                                                           "0.25")]


def read_cases() -> Any:
    spec = importlib.util.spec_from_file_location("cases", HERE.parent / "gluon" / "cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_answers(cases: Any) -> None:
    arrays = {}
    for case in cases.CASES:
        for name, value in cases.run(mx, case, False).items():
            arrays[f"{case.name}.{name}"] = value
    np.savez_compressed(OUT / "answers.npz", **arrays)


def write_network(cases: Any) -> None:
    with mx.name.NameManager():
        net = cases._dense_net(mx)
    net.initialize()
    x = mx.nd.array(np.random.RandomState(3).uniform(-1, 1, (2, 3, 8, 8)))
    net.hybridize()
    net(x)
    cases.set_parameters(mx, net)
    np.savez_compressed(OUT / "net.npz", x=x.asnumpy(), y=net(x).asnumpy())
    net.save_parameters(str(OUT / "net.params"))
    net.export(str(OUT / "net"))


def write_names() -> None:
    found = {}
    for model in MODELS:
        with mx.name.NameManager():
            names = list(vision.get_model(model).collect_params())
        found[model] = [len(names), hashlib.sha1("\n".join(names).encode()).hexdigest()]
    (OUT / "names.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    write_answers(read_cases())
    np.savez_compressed(OUT / "trained.npz", **read_cases().train(mx, False))
    write_network(read_cases())
    write_names()
