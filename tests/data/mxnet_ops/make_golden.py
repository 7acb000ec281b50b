"""Writes answers.json. Run with the real MXNet 1.9.1: python make_golden.py"""

import json
import pathlib

import mxnet as mx
from calls import CALLS, answer


def main():
    lines = [json.dumps(answer(mx, call)) for call in CALLS]
    path = pathlib.Path(__file__).with_name("answers.json")
    path.write_text("[" + ",\n".join(lines) + "]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
