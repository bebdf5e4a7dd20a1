"""The files of any machine that a POSIX shell can be started on."""
