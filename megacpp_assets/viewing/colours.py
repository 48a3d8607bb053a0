"""The colours of structure categories and edits, which terminal, page and picture share."""

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
"""Colours on white. Each has a contrast of at least 4.5."""
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
"""Colours on black, the background of most terminals."""

EDIT_COLOURS: Final = {INSERTED_OP: "#dcfce7", MODIFIED_OP: "#dcfce7", REMOVED_OP: "#fee2e2"}
"""Background of lines that a commit added or removed. Context lines have none."""
DARK_EDIT_COLOURS: Final = {INSERTED_OP: "#14532d", MODIFIED_OP: "#14532d", REMOVED_OP: "#7f1d1d"}
"""The same for a dark background."""
