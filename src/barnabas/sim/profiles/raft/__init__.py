"""A quorum on machines, networks and disks that do everything they can do."""
