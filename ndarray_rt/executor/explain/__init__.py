"""explain: what an executor runs, step by step, with kernels, layouts, reorders and times.

Imported on first use: most programs only run what they bind.
"""

from typing import TYPE_CHECKING

from ...public import loads, shows

if TYPE_CHECKING:
    from .explanation import Explanation, Row
    from .one_pass import explain_pass
    from .subject import Subject, explain

__all__ = ["Explanation", "Row", "Subject", "explain", "explain_pass"]
__getattr__ = loads(globals(), {
    "Explanation": "explanation:Explanation", "Row": "explanation:Row",
    "Subject": "subject:Subject", "explain": "subject:explain",
    "explain_pass": "one_pass:explain_pass"})
__dir__ = shows(globals())
