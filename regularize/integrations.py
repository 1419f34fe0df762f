"""The public name of what works with other programs: ``regularize.integrations.pink``, for one."""

from pathlib import Path

#: Modules below this name lie among the guests.
__path__ = [str(Path(__file__).parent / "guests" / "integrations")]
