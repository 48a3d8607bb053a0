"""Compile databases: read strictly, made by a tree's own cmake, and translated from Windows."""
