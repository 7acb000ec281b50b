"""Tables as HTML, for what notebooks and pages show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """A table of texts, which are escaped, with or without a line of titles.

    >>> table([["a<b", "1"]], ["what", "n"])
    '<table><thead><tr><th>what</th><th>n</th></tr></thead><tbody><tr><td>a&lt;b</td><td>1</td>\
</tr></tbody></table>'
    """
    titles = f"<thead>{_row('th', head)}</thead>" if head else ""
    return f"<table>{titles}<tbody>{''.join(_row('td', row) for row in rows)}</tbody></table>"


def paragraph(text: str) -> str:
    """A text, escaped, as a paragraph."""
    from html import escape  # what is shown in a terminal does without
    return f"<p>{escape(text)}</p>"


def preformatted(text: str) -> str:
    """A text, escaped, with its line breaks."""
    from html import escape
    return f"<pre>{escape(text)}</pre>"


def _row(kind: str, cells: Sequence[str]) -> str:
    from html import escape
    return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"
