"""An LSTM that learns to go on with a text, letter by letter: this package's documentation.

    python examples/language_model.py --epochs 8 --seed 0 --out runs

The last tenth of each page is held out; what is said at the end is how many bits a letter of it
costs with what was learned, and a text that the network goes on with.
"""

from __future__ import annotations

from pathlib import Path

import common
import numpy as np

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.gluon import nn, rnn

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("architecture.md", "differences.md", "executor.md", "interop.md", "memory.md",
         "own_operators.md", "testing.md", "threads.md")
LENGTH, BATCH, HIDDEN = 40, 32, 160


class LanguageModel(gluon.HybridBlock):
    """Letters to scores of the next one; takes and gives the state of the LSTM."""

    def __init__(self, letters: int) -> None:
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(letters, 48)
            self.lstm = rnn.LSTM(HIDDEN, input_size=48)
            self.scores = nn.Dense(letters, flatten=False, in_units=HIDDEN)

    def hybrid_forward(self, F, x, *state):  # noqa: N803
        out, state = self.lstm(self.embedding(x), list(state))
        return (self.scores(out), *state)


def read() -> tuple[str, str]:
    """(text to learn, text that is held out)."""
    learned, held = "", ""
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        cut = len(text) * 9 // 10
        learned += text[:cut]
        held += text[cut:]
    return learned, held


def rows(numbers: np.ndarray, batch: int) -> np.ndarray:
    """(steps, batch): as many texts side by side, each going on below."""
    steps = (len(numbers) - 1) // batch * batch
    return numbers[:steps].reshape(batch, -1).T


def bits(net: LanguageModel, numbers: np.ndarray) -> float:
    """What a letter of a text costs, when those before it are known."""
    state = net.lstm.begin_state(batch_size=1)
    scores, *_ = net(mx.nd.array(numbers[:-1, None]), *state)
    chosen = mx.nd.pick(mx.nd.log_softmax(scores), mx.nd.array(numbers[1:, None]))
    return -float(chosen.mean().asscalar()) / np.log(2)


def go_on(net: LanguageModel, begin: str, letters: list[str], length: int) -> str:
    """The text, and what the network draws after it."""
    numbers = [letters.index(letter) for letter in begin]
    state = net.lstm.begin_state(batch_size=1)
    x = mx.nd.array(np.array(numbers)[:, None])
    for _ in range(length):
        scores, *state = net(x, *state)
        drawn = mx.nd.random.multinomial(mx.nd.softmax(scores[-1] * 1.5))
        begin += letters[int(drawn.asscalar())]
        x = drawn.reshape((1, 1))
    return begin


def main() -> None:
    args = common.arguments(__doc__, epochs=8)
    learned, held = read()
    letters = sorted(set(learned + held))
    numbers, test = (np.array([letters.index(letter) for letter in text], np.float32)
                     for text in (learned, held))
    text = rows(numbers, BATCH)
    net = LanguageModel(len(letters))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 5e-3})
    starts = range(0, len(text) - LENGTH - 1, LENGTH)
    losses, costs = [], []
    for epoch in range(args.epochs):
        trainer.set_learning_rate(5e-3 * 0.8 ** epoch)
        state = net.lstm.begin_state(batch_size=BATCH)
        total = 0.0
        for start in common.progress(starts, f"epoch {epoch + 1}"):
            x, wanted = (mx.nd.array(text[at:at + LENGTH]) for at in (start, start + 1))
            # gradients go back to the beginning of the part, the state goes on
            state = [s.detach() for s in state]
            with autograd.record():
                scores, *state = net(x, *state)
                loss = loss_of(scores, wanted).mean()
            loss.backward()
            gluon.utils.clip_global_norm([p.grad() for p in net.collect_params().values()], 1)
            trainer.step(1)
            total += float(loss.asscalar())
        losses.append(total / len(starts))
        costs.append(bits(net, test))
        print(f"epoch {epoch + 1:2d}  loss {losses[-1]:.4f}  held-out text {costs[-1]:.3f} bits")
    if args.out is not None:
        common.draw_curves(args.out / "language_model.png", "An LSTM on a text", {
            "training loss": {"training": losses}, "bits a letter": {"held out": costs}})
    print(go_on(net, "An array ", letters, 200))
    print(f"held-out text: {costs[-1]:.3f} bits a letter, {len(letters)} letters "
          f"(seed {args.seed})")


if __name__ == "__main__":
    main()
