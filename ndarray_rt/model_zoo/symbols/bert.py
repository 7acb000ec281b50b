"""A transformer's encoder (Vaswani et al. 2017; Devlin et al. 2018), of BERT-mini's size."""

from __future__ import annotations

from ... import sym
from ...errors import ParameterError
from ...symbol.symbol import Symbol
from .layers import data_of


class _Encoder:
    """The parts of one encoder; names are those of its parameters."""

    def __init__(self, hidden: int, heads: int, inner: int) -> None:
        self.hidden, self.heads, self.inner = hidden, heads, inner

    def fc(self, x: Symbol, units: int, name: str) -> Symbol:
        made: Symbol = sym.FullyConnected(x, num_hidden=units, flatten=False, name=name)
        return made

    def norm(self, x: Symbol, name: str) -> Symbol:
        made: Symbol = sym.LayerNorm(x, eps=1e-12, name=name)
        return made

    def split(self, x: Symbol) -> Symbol:
        """(N, L, hidden) as (N * heads, L, hidden / heads)."""
        x = sym.reshape(x, shape=(0, 0, -4, self.heads, -1))
        made: Symbol = sym.reshape(sym.transpose(x, axes=(0, 2, 1, 3)), shape=(-3, 0, 0))
        return made

    def joined(self, x: Symbol) -> Symbol:
        """What undoes `split`."""
        x = sym.transpose(sym.reshape(x, shape=(-4, -1, self.heads, 0, 0)), axes=(0, 2, 1, 3))
        made: Symbol = sym.reshape(x, shape=(0, 0, -3))
        return made

    def attention(self, x: Symbol, prefix: str) -> Symbol:
        q, k, v = (self.split(self.fc(x, self.hidden, prefix + part)) for part in "qkv")
        scores = sym.batch_dot(q * (self.hidden // self.heads) ** -0.5, k, transpose_b=True)
        mixed = sym.batch_dot(sym.softmax(scores, axis=-1), v)
        return self.fc(self.joined(mixed), self.hidden, prefix + "o")

    def layer(self, x: Symbol, prefix: str) -> Symbol:
        """Attention, then two fully connected layers; each sum is normalized."""
        x = self.norm(x + self.attention(x, prefix), prefix + "ln1")
        y = sym.LeakyReLU(self.fc(x, self.inner, prefix + "f1"), act_type="gelu")
        return self.norm(x + self.fc(y, self.hidden, prefix + "f2"), prefix + "ln2")


def bert_encoder(data: Symbol | str = "data", layers: int = 4, hidden: int = 256, heads: int = 4,
                 length: int = 128, vocabulary: int = 30522, inner: int | None = None) -> Symbol:
    """Word and position embeddings, and encoder layers normalized behind each sum.

    `data` is (N, length) numbers of words; the output is (N, length, hidden). `inner`, the width
    between a layer's last two fully connected ones, is 4 * hidden unless told. Parameters:
    word_weight, pos_weight (1, length, hidden), ln_e_gamma, ln_e_beta, and for layer i those of
    l<i>_q, _k, _v, _o, _ln1, _f1, _f2, _ln2. No masks, no dropout, no pooler. Raises ParameterError
    where heads do not divide hidden.
    """
    if heads < 1 or hidden % heads:
        raise ParameterError(f"bert_encoder: heads={heads} does not divide hidden={hidden}")
    made = _Encoder(hidden, heads, 4 * hidden if inner is None else inner)
    x = sym.Embedding(data_of(data), input_dim=vocabulary, output_dim=hidden, name="word")
    positions = sym.Variable("pos_weight", shape=(1, length, hidden))
    x = made.norm(sym.broadcast_add(x, positions), "ln_e")
    for i in range(layers):
        x = made.layer(x, f"l{i}_")
    return x


MODELS = {"bert_encoder": bert_encoder}
