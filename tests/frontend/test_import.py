"""What `import ndarray_rt` loads, and what it leaves until it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(code: str) -> str:
    """What a new process prints. Modules that the interpreter itself begins with do not count."""
    program = f"import sys; sys.modules.pop('pathlib', None); before = set(sys.modules)\n{code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True)
    return done.stdout.strip()


def test_names_of_operators_are_known_without_loading_them() -> None:
    code = ("import ndarray_rt as mx; from ndarray_rt.op.registry import REGISTRY\n"
            "shown = [set(dir(space)) for space in (mx.nd, mx.sym, mx.nd.contrib, mx.nd.op)]\n"
            "try: mx.nd.Convolutoin\n"
            "except AttributeError as error: print('Convolution' in str(error))\n"
            "print([name for name in sys.modules if name.startswith('ndarray_rt.ops')])\n"
            "REGISTRY.ops()\n"
            "print(shown == [set(dir(s)) for s in (mx.nd, mx.sym, mx.nd.contrib, mx.nd.op)])")
    assert run(code).split("\n") == ["True", "[]", "True"]


def test_an_operator_loads_its_own_module() -> None:
    code = ("import ndarray_rt as mx; from ndarray_rt.operator_index import PLACES\n"
            "mx.nd.L2Normalization(mx.nd.ones((2, 2)))\n"
            "print(*(place for place in PLACES if place in sys.modules))")
    assert "ndarray_rt.ops.nn.l2_normalization" in run(code).split()
    assert "ndarray_rt.ops.nn.convolution" not in run(code).split()


def test_many_threads_may_use_operators_for_the_first_time_at_once() -> None:
    code = ("import random, threading; import ndarray_rt as mx\n"
            "from ndarray_rt.op.registry import REGISTRY\n"
            "from ndarray_rt.op.signatures import Signature\n"
            "sys.setswitchinterval(1e-5)\n"
            "names = list(REGISTRY.names()); start = threading.Barrier(12); seen = []\n"
            "def use(seed):\n"
            "    own = random.Random(seed).sample(names, len(names)); start.wait()\n"
            "    for name in own:\n"
            "        mx.nd.op, Signature(REGISTRY.find(name)).inputs\n"
            "        getattr(mx.nd, name, None), getattr(mx.sym, name, None)\n"
            "    seen.append({name: REGISTRY.find(name) for name in names})\n"
            "threads = [threading.Thread(target=use, args=(i,)) for i in range(12)]\n"
            "for thread in threads: thread.start()\n"
            "for thread in threads: thread.join()\n"
            "print(len(seen), all(each == seen[0] for each in seen))\n"
            "print(list(REGISTRY.names()) == names)")
    assert run(code) .split() == ["12", "True", "True"]


def test_many_threads_may_use_parts_for_the_first_time_at_once() -> None:
    code = ("import threading; import ndarray_rt as mx\n"
            "sys.setswitchinterval(1e-5); seen = []\n"
            "def graph():\n"
            "    x = mx.sym.FullyConnected(mx.sym.Variable('x'), num_hidden=2, name='fc')\n"
            "    e = x.simple_bind(ctx=mx.cpu(), x=(2, 3)); e.forward()\n"
            "def taped():\n"
            "    x = mx.nd.ones((2, 3)); x.attach_grad()\n"
            "    with mx.autograd.record(): y = mx.nd.tanh(x).sum()\n"
            "    y.backward()\n"
            "def block():\n"
            "    net = mx.gluon.nn.Dense(2); net.initialize(); net.hybridize()\n"
            "    net(mx.nd.ones((2, 3)))\n"
            "def others():\n"
            "    mx.optimizer.create('sgd'); mx.metric.create('acc'); mx.init.Xavier()\n"
            "def loop():\n"
            "    mx.nd.contrib.foreach(lambda a, s: (a, s), mx.nd.ones((2, 3)), [])\n"
            "uses = [graph, taped, block, others, loop] * 3; start = threading.Barrier(len(uses))\n"
            "def run(use):\n"
            "    start.wait(); use(); seen.append(use)\n"
            "threads = [threading.Thread(target=run, args=(use,)) for use in uses]\n"
            "for thread in threads: thread.start()\n"
            "for thread in threads: thread.join()\n"
            "print(len(seen))")
    assert run(code) == "15"


def test_every_operator_is_registered_by_then() -> None:
    code = ("import ndarray_rt; from ndarray_rt.op.registry import REGISTRY\n"
            "before = set(REGISTRY.names())\n"
            "from ndarray_rt import contrib, executor, io, model_zoo, passes, testing\n"
            "print(len(before), *set(REGISTRY.names()) - before)")
    assert len(run(code).split()) == 1


def test_no_function_is_made_before_it_is_used() -> None:
    code = ("import ndarray_rt as mx\n"
            "made = lambda: [name for space in (mx.nd, mx.sym, mx.nd.contrib, mx.sym.contrib) "
            "for name, value in vars(space).items() "
            "if callable(value) and hasattr(value, '_operator')]\n"
            "print(*made()); mx.nd.relu(mx.nd.ones(2)); mx.sym.relu(mx.sym.Variable('x'))\n"
            "print(*made())")
    assert run(code) == "relu relu"


@pytest.mark.parametrize("module", ["ndarray_rt", "ndarray_rt.nd", "ndarray_rt.sym",
                                    "ndarray_rt.nd.contrib", "ndarray_rt.ndarray",
                                    "ndarray_rt.executor", "ndarray_rt.autograd"])
def test_star_imports_give_what_dir_shows(module: str) -> None:
    code = (f"import importlib; shown = dir(importlib.import_module({module!r}))\n"
            f"space = {{}}; exec('from {module} import *', space)\n"
            "print(sorted(set(shown) ^ (set(space) - {'__builtins__'})))")
    assert run(code) == "[]"


def test_binding_loads_the_executor() -> None:
    code = ("import ndarray_rt as mx; x = mx.sym.Variable('x')\n"
            "assert 'ndarray_rt.executor' not in sys.modules\n"
            "print((x + x).eval(x=mx.nd.ones((1,)))[0].asscalar())\n"
            "print('ndarray_rt.executor' in sys.modules, "
            "'ndarray_rt.executor.explain.subject' in sys.modules)")
    assert run(code).split() == ["2.0", "True", "False"]
