"""Errors (to be completed)."""


class ProtocolError(Exception):
    pass


class RemoteProtocolError(ProtocolError):
    pass


class LocalProtocolError(ProtocolError):
    pass


class UnsupportedVersionError(LocalProtocolError):
    pass
