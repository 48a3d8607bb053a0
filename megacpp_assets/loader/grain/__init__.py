"""Windows of fixed length over raw token files, in OLMo's order, read with Grain (docs/contracts.md).

`index.py`, `files.py` and `permutation.py` work without Grain; the source, sampler, transforms and loader need it.
"""
