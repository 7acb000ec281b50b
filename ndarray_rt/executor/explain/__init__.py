"""explain: what an executor runs, step by step, with kernels, layouts, reorders and times."""

from .explanation import Explanation, Row
from .one_pass import explain_pass
from .subject import Subject, explain

__all__ = ["Explanation", "Row", "Subject", "explain", "explain_pass"]
