"""Publish files and folders atomically, and clean up after processes that were killed.

Content is written into a staging folder beside its destination, flushed to disk, and renamed into place. A reader sees
the old content or the new, never half of it. The name of a staging folder says which process made it, so that a later
run can remove what a killed process left behind. No other room of xmach renames or creates temporary files.
"""

from xmach.files.publishing import atomic_file, atomic_folder, remove_at_once, sha256_of, write_json
from xmach.files.scratch import remove_abandoned_scratch, scratch_file, scratch_folder
from xmach.files.staging import is_temporary, remove_abandoned

__all__ = [
    "atomic_file",
    "atomic_folder",
    "is_temporary",
    "remove_abandoned",
    "remove_abandoned_scratch",
    "remove_at_once",
    "scratch_file",
    "scratch_folder",
    "sha256_of",
    "write_json",
]
