"""The driver: processes, failure files, the command line."""
