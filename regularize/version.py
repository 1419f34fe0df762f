"""The version of the package, and of what it writes."""

from __future__ import annotations

#: Here and nowhere else: to look it up among what is installed takes longer than to check a model.
__version__ = "0.1.0"

#: Schema versions of the project's own documents; keys are added within one, never renamed.
SCHEMAS = {"mechanism": 1, "metamodel": 1, "reduction": 1, "report": 1}
