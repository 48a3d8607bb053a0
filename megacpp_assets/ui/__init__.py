"""Dagster's UI for one user of this machine: a guard in front of its web server, and its services on private
sockets.
"""

from megacpp_assets.contract.extras import require

require("dagster")
