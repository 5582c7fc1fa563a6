"""A stupid oracle for files: which bytes a power loss may leave."""

from barnabas.sim.disk_content import Content

# What files hold that are deleted in tests, and nothing else.
STALE_BYTES = (0xEE, 0xDD)


class Allowed:
    """All that a file has been since it was last synced.

    A power loss may leave each byte as it was at any of these moments, where the file was shorter
    as a zero, and the length as it was at any of them.
    """

    def __init__(self) -> None:
        self.now = bytearray()
        self.synced()

    def write(self, offset: int, data: bytes) -> None:
        """Note a write."""
        self.now.extend(bytes(max(0, offset + len(data) - len(self.now))))
        self.now[offset : offset + len(data)] = data
        self.past.append(bytes(self.now))

    def resize(self, size: int) -> None:
        """Note a new length."""
        del self.now[size:]
        self.now.extend(bytes(size - len(self.now)))
        self.past.append(bytes(self.now))

    def synced(self) -> None:
        """Note that nothing but the present may come back."""
        self.past = [bytes(self.now)]

    def check(self, content: Content, sizes: bool = True, stale: bool = False) -> None:
        """Hold what came back against the past."""
        data = content.read(0, content.size)
        assert len(data) == content.size
        lengths = {len(moment) for moment in self.past}
        assert content.size in lengths or (not sizes and content.size <= max(lengths))
        odd = list(range(len(data)))
        for moment in self.past:
            padded = moment.ljust(len(data), b"\0")
            odd = [at for at in odd if data[at] != padded[at]]
        if stale:
            fresh = len(self.past[0])
            odd = [at for at in odd if at < fresh or data[at] not in STALE_BYTES]
        assert not odd, f"byte {odd[0]} never was {data[odd[0]]}"
