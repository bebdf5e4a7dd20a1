"""Finding the one place in a text that an edit means, and the least change that makes the edit.

Pure text: no files, nothing to wait for. `find.find_edit` is the door.
"""
