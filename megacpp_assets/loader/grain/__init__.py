"""Windows of a fixed length over files of bare tokens, in OLMo's order, through Grain (seed 003).

Only `loader.py` needs Grain itself, and imports it when a loader is made.
"""
