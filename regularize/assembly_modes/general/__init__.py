"""All configurations of any loops: by eigenvalues, or by iteration from many starts."""

from regularize.assembly_modes.general.finder import ConfigurationFinder, configurations
from regularize.assembly_modes.general.table import Configurations, Evidence

__all__ = ["ConfigurationFinder", "Configurations", "Evidence", "configurations"]
