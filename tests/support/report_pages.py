"""The page of a report, out of the frame in which notebooks show it."""

from __future__ import annotations

import re
from html import unescape

import regularize as rg


def page_of(report: rg.Report) -> str:
    """The page's text."""
    (page,) = re.findall(r'<iframe srcdoc="([^"]*)"', report._repr_html_())
    return unescape(page)
