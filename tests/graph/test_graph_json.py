"""Symbol files: equal to MXNet's byte for byte, older forms, bad files."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt import sym
from ndarray_rt.errors import ModelFormatError, MXNetError, ParameterError

from . import golden


@pytest.mark.parametrize("which", golden.NAMES)
def test_written_as_mxnet_writes_it(which: str) -> None:
    assert golden.build(which).tojson() == golden.text(f"{which}.json")


@pytest.mark.parametrize("which", golden.NAMES)
def test_mxnets_file_is_read_and_written_back(which: str) -> None:
    text = golden.text(f"{which}.json")
    assert sym.load_json(text).tojson() == text


@pytest.mark.parametrize("which", golden.NAMES)
def test_answers_of_the_loaded_file(which: str) -> None:
    # MXNet was asked about the symbol with its casts
    file = f"{which}.casts.json" if which == "mixed_precision" else f"{which}.json"
    loaded, wanted = sym.load_json(golden.text(file)), golden.answers(which)
    assert loaded.list_arguments() == wanted["arguments"]
    assert loaded.list_outputs() == wanted["outputs"]
    assert loaded.list_auxiliary_states() == wanted["aux"]
    assert loaded.list_inputs() == wanted["inputs"]
    assert loaded.get_internals().list_outputs() == wanted["internals"]
    assert loaded.name == wanted["name"]
    assert loaded.attr_dict() == wanted["attr_dict"]


def test_casts_stay_when_asked_for() -> None:
    casts = golden.text("mixed_precision.casts.json")
    made = golden.build("mixed_precision")
    assert made.tojson(remove_amp_cast=False) == casts
    assert sym.load_json(casts).tojson() == golden.text("mixed_precision.json")
    assert made.tojson(remove_amp_cast=False) == casts, "tojson changed the symbol"


OLD = sorted(path.name for path in golden.FOLDER.glob("old_*.json")
             if not path.name.endswith(".upgraded.json") and golden.runnable(path.name))


@pytest.mark.parametrize("file", OLD)
def test_older_forms(file: str) -> None:
    upgraded = golden.text(file.replace(".json", ".upgraded.json"))
    # how often a variable was written to is unknown in old files: MXNet then counts from 0
    loaded = sym.load_json(golden.text(file))
    assert loaded.tojson() == upgraded
    assert loaded.__copy__().tojson() == upgraded


def test_file_and_pickle(tmp_path: Path) -> None:
    made = sym.Activation(sym.var("data"), act_type="relu", name="act")
    path = tmp_path / "net-symbol.json"
    made.save(path)
    made.save(str(path))
    assert path.read_text(encoding="utf-8") == made.tojson()
    assert sym.load(str(path)).tojson() == made.tojson()
    assert pickle.loads(pickle.dumps(made)).tojson() == made.tojson()
    assert [p.name for p in tmp_path.iterdir()] == ["net-symbol.json"], "a temporary file stayed"


def test_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net-symbol.json"
    sym.var("old").save(path)
    before = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(MXNetError, match="No space left"):
        sym.var("new").save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["net-symbol.json"]


def test_text_of_strings() -> None:
    odd = 'quote " slash \\ tab \t line \n return \r bell \x07 é 漢 😀'
    made = sym.var("x", attr={"__odd__": odd})
    assert json.loads(made.tojson(), strict=False)["nodes"][0]["attrs"]["__odd__"] == odd
    assert sym.load_json(made.tojson()).attr("__odd__") == odd


def graph(**changes: Any) -> str:
    """A small good file, changed."""
    data: dict[str, Any] = {
        "nodes": [{"op": "null", "name": "x", "inputs": []},
                  {"op": "Activation", "name": "act", "attrs": {"act_type": "relu"},
                   "inputs": [[0, 0, 0]]}],
        "arg_nodes": [0], "node_row_ptr": [0, 1, 2], "heads": [[1, 0, 0]],
        "attrs": {"mxnet_version": ["int", 10901]}}
    data.update(changes)
    return json.dumps({key: value for key, value in data.items() if value is not None})


def node(**changes: Any) -> str:
    """A file whose second node is changed."""
    data = json.loads(graph())
    data["nodes"][1].update(changes)
    data["nodes"][1] = {k: v for k, v in data["nodes"][1].items() if v is not None}
    return json.dumps(data)


BAD = {
    "empty": ("", "no JSON"),
    "half": (graph()[:50], "no JSON"),
    "deep": ("[" * 100_000, "no JSON"),
    "no object": ("[]", "expected an object"),
    "number": ("3", "expected an object"),
    "no nodes": (graph(nodes=None), "no 'nodes'"),
    "no heads": (graph(heads=None), "no 'heads'"),
    "no arg_nodes": (graph(arg_nodes=None), "no 'arg_nodes'"),
    "heads empty": (graph(heads=[]), "heads is empty"),
    "heads no list": (graph(heads=3), "expected a list"),
    "head out of range": (graph(heads=[[2, 0, 0]]), "names node 2, but there are 2 nodes"),
    "head negative": (graph(heads=[[-1, 0, 0]]), "names node -1"),
    "head short": (graph(heads=[[1]]), r"expected \[node, output, version\]"),
    "output out of range": (graph(heads=[[1, 7, 0]]), 'output 7 of node "act", which has 1'),
    "arg no variable": (graph(arg_nodes=[1]), "is no variable"),
    "arg out of range": (graph(arg_nodes=[9]), "is no variable"),
    "node no object": (graph(nodes=[3]), "node 0 is int"),
    "node without name": (node(name=None), "node 1 has no 'name'"),
    "node without inputs": (node(inputs=None), "has no 'inputs'"),
    "input out of range": (node(inputs=[[5, 0, 0]]), 'input 0 of node "act" names node 5'),
    "input output out of range": (node(inputs=[[0, 3, 0]]), "output 3"),
    "too many inputs": (node(inputs=[[0, 0, 0], [0, 0, 0]]), "has 2 inputs, expected 1"),
    "too few inputs": (node(inputs=[]), "has 0 inputs, expected 1"),
    "cycle": (node(inputs=[[1, 0, 0]]), '"act" is an input of itself'),
    "attrs no strings": (node(attrs={"act_type": 3}), "no object of strings"),
    "bad parameter": (node(attrs={"act_type": "round"}), 'Activation "act".*act_type.*round'),
    "unknown parameter": (node(attrs={"act_type": "relu", "zork": "1"}), "unknown.*zork"),
    "missing parameter": (node(attrs={}), "act_type"),
    "version": (graph(attrs={"mxnet_version": 3}), "mxnet_version"),
    "variable with inputs": (node(op="null", attrs={}), 'variable "act" has inputs'),
}


@pytest.mark.parametrize("which", BAD)
def test_bad_files(which: str) -> None:
    text, words = BAD[which]
    with pytest.raises(ModelFormatError, match=words):
        sym.load_json(text)


def test_attributes_of_no_input_are_no_parameters() -> None:
    loaded = sym.load_json(node(attrs={"act_type": "relu", "zork_lr_mult": "2"}).replace("10901",
                                                                                         "10300"))
    assert loaded.attr_dict()["act"] == {"act_type": "relu", "zork_lr_mult": "2"}


def test_few_bytes_can_not_ask_for_much() -> None:
    nodes: list[dict[str, Any]] = [{"op": "null", "name": "x", "inputs": []}]
    nodes += [{"op": "SliceChannel", "name": f"s{i}", "attrs": {"num_outputs": str(1 << 18)},
               "inputs": [[i, 0, 0]]} for i in range(8)]
    with pytest.raises(ModelFormatError, match=r'node "s4" .*: up to it nodes have'):
        sym.load_json(graph(nodes=nodes, heads=[[8, 0, 0]]))
    many = {"op": "Concat", "name": "many", "inputs": [[0, 0, 0]],
            "attrs": {"num_args": str(1 << 18), "arg0_lr_mult": "1"}}
    with pytest.raises(ModelFormatError, match="has 1 inputs, expected 262144"):
        sym.load_json(graph(nodes=[nodes[0], many], attrs={"mxnet_version": ["int", 900]}))


@pytest.mark.parametrize("piece", ["[],", "{},", '"ab",', "1234567,"])
def test_text_that_takes_much_memory_is_not_parsed(piece: str) -> None:
    text = graph(nodes=[{"op": "null", "name": "x", "inputs": [], "more": "HERE"}],
                 heads=[[0, 0, 0]])
    text = text.replace('"HERE"', "[" + piece * ((24 << 20) // len(piece)) + "0]")
    with pytest.raises(ModelFormatError, match=r"symbol JSON: its .* bytes of memory"):
        sym.load_json(text)


def test_names_of_any_length_make_short_errors() -> None:
    with pytest.raises(ModelFormatError) as told:
        sym.load_json(node(name="n" * 100_000, op="Zork"))
    assert len(str(told.value)) < 1100
    assert "is not registered" in str(told.value)


def test_graphs_that_are_nested_deeply() -> None:
    text = graph()
    inner, end = '{"op": "_foreach", "name": "f", "inputs": [], "subgraphs": [', "]}"
    start, rest = '{"nodes": [', '], "arg_nodes": [], "heads": [[0, 0, 0]]}'
    nested = (start + inner) * 240 + text + (end + rest) * 240
    with pytest.raises(ModelFormatError):
        sym.load_json(nested)


def test_unknown_operator_is_named() -> None:
    with pytest.raises(ModelFormatError, match=r"node \"act\": operator 'Zork' is not registered"):
        sym.load_json(node(op="Zork"))


def test_graphs_inside_of_other_operators_are_refused() -> None:
    with pytest.raises(ModelFormatError, match=r'a graph of node "act" is str'):
        sym.load_json(node(subgraphs=["x"]))
    with pytest.raises(ModelFormatError, match="has no 'nodes'"):
        sym.load_json(node(subgraphs=[{}]))
    inner = json.loads(sym.Variable("x").tojson())
    with pytest.raises(ModelFormatError, match=r'"act".*graphs inside'):
        sym.load_json(node(subgraphs=[inner]))


def test_long_cycle() -> None:
    nodes = [{"op": "Activation", "name": f"a{i}", "attrs": {"act_type": "relu"},
              "inputs": [[(i + 1) % 50, 0, 0]]} for i in range(50)]
    with pytest.raises(ModelFormatError, match="cycle"):
        sym.load_json(graph(nodes=nodes, arg_nodes=[], heads=[[0, 0, 0]]))


def test_nodes_may_stand_in_any_order() -> None:
    nodes = [{"op": "Activation", "name": "act", "attr": {"act_type": "relu"}, "inputs": [[1, 0]]},
             {"op": "null", "name": "x", "inputs": []}]
    made = sym.load_json(graph(nodes=nodes, arg_nodes=[1], heads=[[0, 0]]))
    assert made.list_arguments() == ["x"]
    assert made.list_outputs() == ["act_output"]


def test_deep_graph(tmp_path: Path) -> None:
    net = sym.var("x")
    for i in range(5000):
        net = sym.Activation(net, act_type="relu", name=f"a{i}")
    again = sym.load_json(net.tojson())
    assert again.list_arguments() == ["x"]
    assert again.infer_shape(x=(2,))[1] == [(2,)]
    assert len(again.__copy__().get_internals()) == 5001


@given(st.data())
def test_random_graphs_come_back(data: st.DataObject) -> None:
    shape = (2, 3)
    pool = [sym.var(f"v{i}", shape=shape if i % 2 else None) for i in range(3)]
    for i in range(data.draw(st.integers(0, 8))):
        a, b = (data.draw(st.sampled_from(pool)) for _ in range(2))
        pool.append(data.draw(st.sampled_from([
            lambda a, b: sym.Activation(a, act_type="tanh"),
            lambda a, b: a + b,
            lambda a, b: 1.5 - a,
            lambda a, b: sym.add_n(a, b, a),
            lambda a, b: sym.FullyConnected(a, num_hidden=3, name=f"fc{i}"),  # noqa: B023
        ]))(a, b))
    net = sym.Group(data.draw(st.lists(st.sampled_from(pool), min_size=1, max_size=3)))
    again = sym.load_json(net.tojson())
    assert again.tojson() == net.tojson()
    assert again.debug_str() == net.debug_str()
    known = dict.fromkeys((n for n in net.list_arguments() if n.startswith("v")), shape)
    assert again.infer_shape(**known) == net.infer_shape(**known)
    assert again.infer_shape_partial() == net.infer_shape_partial()
    assert again.__copy__().tojson() == net.tojson()


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize(("name", "counted"), [
    ("BatchNorm", 3), ("SyncBatchNorm", 3), ("BatchNormWithReLU", 4)])
def test_files_count_outputs_as_mxnet_does(name: str, counted: int, used: bool) -> None:
    more: dict[str, Any] = {"key": "all"} if name == "SyncBatchNorm" else {}
    op = sym.BatchNorm if name == "BatchNorm" else getattr(sym.contrib, name)
    rows = json.loads(op(sym.var("x"), output_mean_var=used, **more).tojson())["node_row_ptr"]
    assert rows[-1] - rows[-2] == counted


@pytest.mark.parametrize(("mode", "with_states"), [("lstm", 3), ("gru", 2), ("rnn_tanh", 2)])
@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("p", [0, 0.5])
def test_files_do_not_count_what_dropout_keeps(mode: str, with_states: int, states: bool,
                                               p: float) -> None:
    made = sym.RNN(sym.var("x"), state_size=3, num_layers=2, mode=mode, state_outputs=states, p=p)
    rows = json.loads(made.tojson())["node_row_ptr"]
    assert rows[-1] - rows[-2] == (with_states if states else 1)


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(MXNetError, match="No such file"):
        sym.load(str(tmp_path / "none.json"))
    for content, told in ((b"\xff\xfe\x00", r"no JSON object: it begins with b'\\xff"),
                          (b"[1]", "no JSON object: it begins with"), (b'{"\xff"', "no text"),
                          (b"{", "no JSON: "), (b"", "no JSON: ")):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(ModelFormatError, match=told):
            sym.load(str(tmp_path / "other"))
    with pytest.raises(TypeError):
        sym.load(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        sym.load_json(3)  # type: ignore[arg-type]
    with pytest.raises(MXNetError, match="No such file"):
        sym.var("x").save(tmp_path / "nowhere" / "x.json")


def test_states_that_a_file_lacks() -> None:
    """MXNet reads the file too, and says when shapes are inferred what is not there."""
    loaded = sym.load_json(golden.text("old_0900_without_states.json"))
    assert loaded.list_arguments() == ["data", "fc_weight", "fc_bias", "bn_gamma", "bn_beta",
                                       "half_gamma", "half_beta"]
    assert loaded.list_auxiliary_states() == ["half_moving_mean"]
    inside = loaded.get_internals()
    assert inside["fc_output"].infer_shape(data=(2, 3))[1] == [(2, 4)]
    words = r'node "bn" \(BatchNorm\) lacks the auxiliary states moving_mean, moving_var'
    for ask in (lambda: loaded.infer_shape(data=(2, 3)), lambda: loaded.infer_type(data="float32"),
                lambda: loaded.simple_bind(mx.cpu(), data=(2, 3)),
                lambda: inside["bn_output"].gradient(["data"])):
        with pytest.raises(ParameterError, match=words):
            ask()
    with pytest.raises(ParameterError, match=r'"half" \(BatchNorm\) lacks .* states moving_var:'):
        inside["half_output"].gradient(["half_gamma"])
    whole = loaded(data=sym.Variable("other"))
    assert whole.list_arguments()[0] == "other"


@pytest.mark.parametrize("count", [0, 2, 6])
def test_other_inputs_are_not_left_out(count: int) -> None:
    with pytest.raises(ModelFormatError, match=f"has {count} inputs, expected 5"):
        sym.load_json(json.dumps({
            "nodes": [*({"op": "null", "name": f"x{i}", "inputs": []} for i in range(count)),
                      {"op": "BatchNorm", "name": "bn",
                       "inputs": [[i, 0, 0] for i in range(count)]}],
            "arg_nodes": [*range(count)], "heads": [[count, 0, 0]],
            "attrs": {"mxnet_version": ["int", 900]}}))
