"""Regular expressions as RE2 has them, in time that is linear in the text.

`re` tries one way after the other, of which there are 2^n for `(a+)+b` and n letters. Here all ways
are followed at once (Thompson, "Regular expression search algorithm", 1968).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_MOST_STEPS = 1 << 14
_MOST_REPEATS = 1000  # as in RE2
_MOST_GROUPS = 100  # inside of one another
_COUNTS = re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}")
_GROUP = re.compile(r"\?P?<\w+>|\?([ims]*)(?:-([ims]+))?([:)])")
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_WORDS = {"[:alnum:]": "0-9A-Za-z", "[:alpha:]": "A-Za-z", "[:digit:]": "0-9", "[:lower:]": "a-z",
          "[:upper:]": "A-Z", "[:space:]": r"\t\n\v\f\r ", "[:xdigit:]": "0-9A-Fa-f",
          "[:word:]": r"\w", "[:punct:]": r"!-/:-@\[-`{-~", "[:blank:]": r"\t "}


class _Step(NamedTuple):
    """One character that `takes` it, a place in the text where `holds`, or two ways to go on."""

    takes: Callable[[str], object] | None = None
    holds: Callable[[str, int], object] | None = None
    ways: tuple[int, ...] = ()


class Pattern:
    """A compiled pattern; ValueError for one that is none."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0
        self._flags = re.ASCII
        self._steps: list[_Step] = []
        self._choice()
        if self._at < len(text):
            raise self._wrong("a ) without (")

    def matches(self, text: str) -> bool:
        """All of the text is what the pattern says."""
        end = len(self._steps)
        now = self._reached({0}, text, 0)
        for i, letter in enumerate(text):
            after = set()
            for at in now:
                if at < end and (takes := self._steps[at].takes) is not None and takes(letter):
                    after.add(at + 1)
            now = self._reached(after, text, i + 1)
            if not now:
                return False
        return end in now

    def _reached(self, places: set[int], text: str, i: int) -> set[int]:
        """All steps that come without another character."""
        found: set[int] = set()
        waiting = list(places)
        while waiting:
            at = waiting.pop()
            if at in found:
                continue
            found.add(at)
            if at == len(self._steps):
                continue
            step = self._steps[at]
            if step.holds is not None and step.holds(text, i):
                waiting.append(at + 1)
            waiting.extend(at + way for way in step.ways)
        return found

    # ---- reading -------------------------------------------------------------------------------

    def _wrong(self, reason: str) -> ValueError:
        return ValueError(f"the pattern {self._text!r:.100}: {reason} at {self._at}")

    def _next(self) -> str:
        return self._text[self._at:self._at + 1]

    def _add(self, *steps: _Step) -> None:
        self._steps += steps
        if len(self._steps) > _MOST_STEPS:
            raise self._wrong(f"more than {_MOST_STEPS} steps")

    def _choice(self) -> None:
        """Ways with | between them."""
        flags, start, parts = self._flags, len(self._steps), []
        while True:
            while self._next() not in ("", "|", ")"):
                self._repeated()
            parts.append(self._steps[start:])
            del self._steps[start:]
            if self._next() != "|":
                break
            self._at += 1
        self._flags = flags
        for i, part in enumerate(parts):
            behind = sum(len(other) + 2 for other in parts[i + 1:-1]) + len(parts[-1])
            if i + 1 < len(parts):
                # this part, or what comes after it and its jump to the end
                self._add(_Step(ways=(1, len(part) + 2)), *part, _Step(ways=(behind + 1,)))
            else:
                self._add(*part)

    def _repeated(self) -> None:
        start = len(self._steps)
        self._atom()
        part = self._steps[start:]
        while True:
            counts = _COUNTS.match(self._text, self._at)
            if self._next() in ("*", "+", "?") and self._next():
                least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self._next()]
                self._at += 1
            elif counts is not None:
                least = int(counts[1])
                most = least if counts[2] is None else int(counts[3]) if counts[3] else None
                self._at = counts.end()
            else:
                return
            if max(least, most or 0) > _MOST_REPEATS or (most is not None and most < least):
                raise self._wrong("a wrong number of times")
            if self._next() == "?":
                self._at += 1  # as few as will do: it is the same for all of a text
            if self._next() in ("*", "+", "?") and self._next():
                raise self._wrong("nothing to repeat")
            del self._steps[start:]
            for _ in range(least):
                self._add(*part)
            if most is None:
                self._add(_Step(ways=(1, len(part) + 2)), *part, _Step(ways=(-len(part) - 1,)))
            else:
                for left in range(most - least, 0, -1):
                    self._add(_Step(ways=(1, left * (len(part) + 1))), *part)
            part = self._steps[start:]

    def _atom(self) -> None:
        letter = self._next()
        if letter == "(":
            self._group()
        elif letter == "[":
            self._one(self._class())
        elif letter == "\\":
            self._escape()
        elif letter in "*+?":
            raise self._wrong("nothing to repeat")
        elif letter in "^$":
            self._at += 1
            self._add(_Step(holds=self._end(letter)))
        else:
            self._at += 1
            self._one(letter if letter == "." else re.escape(letter))

    def _end(self, letter: str) -> Callable[[str, int], object]:
        lines = bool(self._flags & re.MULTILINE)
        if letter == "^":
            return lambda text, i: i == 0 or (lines and text[i - 1] == "\n")
        return lambda text, i: i == len(text) or (lines and text[i] == "\n")

    def _one(self, text: str) -> None:
        """One character, as `re` reads what says which."""
        try:
            self._add(_Step(takes=re.compile(text, self._flags).fullmatch))
        except re.error as error:
            raise self._wrong(str(error)) from None

    def _group(self) -> None:
        self._at += 1
        self._depth += 1
        if self._depth > _MOST_GROUPS:
            raise self._wrong(f"more than {_MOST_GROUPS} groups in one another")
        outer = self._flags
        if self._next() == "?":
            found = _GROUP.match(self._text, self._at)
            if found is None:
                raise self._wrong("an unknown group")
            self._at = found.end()
            for letter in found[1] or "":
                self._flags |= _FLAGS[letter]
            for letter in found[2] or "":
                self._flags &= ~_FLAGS[letter]
            if found[3] == ")":
                self._depth -= 1
                return  # for all that follows in the group around it
        self._choice()
        if self._next() != ")":
            raise self._wrong("a ( without )")
        self._at += 1
        self._depth -= 1
        self._flags = outer

    def _class(self) -> str:
        """What [ ] holds, in the form that `re` reads."""
        start = at = self._at
        at += 2 if self._text[at + 1:at + 2] == "^" else 1
        made = self._text[start:at]
        first = True
        while first or self._text[at:at + 1] != "]":
            word = next((w for w in _WORDS if self._text.startswith(w, at)), None)
            size = 2 if self._text[at:at + 1] == "\\" else 1
            piece = self._text[at:at + size]
            if not piece:
                raise self._wrong("a [ without ]")
            if word is None:
                made += "\\" + piece if piece in ("[", "&", "~", "|") else piece
            else:
                made, size = made + _WORDS[word], len(word)
            at, first = at + size, False
        self._at = at + 1
        return made + "]"

    def _escape(self) -> None:
        letter = self._text[self._at + 1:self._at + 2]
        if letter in ("b", "B"):
            self._at += 2
            wanted = letter == "b"
            self._add(_Step(holds=lambda text, i: (_is_word(text, i - 1) != _is_word(text, i))
                            == wanted))
        elif letter in ("A", "z"):
            self._at += 2
            is_first = letter == "A"
            self._add(_Step(holds=lambda text, i: i == (0 if is_first else len(text))))
        else:
            size = 4 if letter == "x" else 2
            text = self._text[self._at:self._at + size]
            if letter.isdigit() or letter == "Z":
                raise self._wrong(f"the escape {text!r}")
            self._at += size
            self._one(text)


def _is_word(text: str, i: int) -> bool:
    return 0 <= i < len(text) and (text[i] == "_" or (text[i].isascii() and text[i].isalnum()))
