"""Windows of a fixed length over files of bare tokens, in OLMo's order, through Grain (docs/contracts.md).

`index.py`, `files.py` and `permutation.py` work without Grain; the source, sampler, transforms and loader need it.
"""
