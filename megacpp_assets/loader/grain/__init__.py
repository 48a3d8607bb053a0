"""Windows of a fixed length over files of bare tokens, in OLMo's order, through Grain (docs/contracts.md).

Only `loader.py` needs Grain itself, and imports it when a loader is made.
"""
