"""The colour of each structure category and of each edit, the same in a terminal, a page and a picture."""

from __future__ import annotations

from typing import Final

from megacpp_assets.contract.names import INSERTED_OP, MODIFIED_OP, REMOVED_OP

CATEGORY_COLOURS: Final = {
    "other": "#6b7280",
    "preamble": "#a16207",
    "func_sig": "#1d4ed8",
    "func_body": "#111827",
    "class_decl": "#7e22ce",
    "class_member": "#be185d",
    "comment": "#15803d",
    "typedef": "#0e7490",
    "namespace": "#b91c1c",
}
"""On white: each has a contrast of 4.5 or more."""
DARK_COLOURS: Final = {
    "other": "#9ca3af",
    "preamble": "#facc15",
    "func_sig": "#93c5fd",
    "func_body": "#e5e7eb",
    "class_decl": "#d8b4fe",
    "class_member": "#f9a8d4",
    "comment": "#86efac",
    "typedef": "#67e8f9",
    "namespace": "#fca5a5",
}
"""On black, as terminals mostly are."""

EDIT_COLOURS: Final = {INSERTED_OP: "#dcfce7", MODIFIED_OP: "#dcfce7", REMOVED_OP: "#fee2e2"}
"""Background of what a commit added or removed; context has none."""
DARK_EDIT_COLOURS: Final = {INSERTED_OP: "#14532d", MODIFIED_OP: "#14532d", REMOVED_OP: "#7f1d1d"}
"""The same on a dark ground."""
