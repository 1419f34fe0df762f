"""ASMT, the assemblies of the solver inside FreeCAD."""
