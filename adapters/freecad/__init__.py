"""FreeCAD assemblies."""
