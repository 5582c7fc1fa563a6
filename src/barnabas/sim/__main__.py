"""``python -m barnabas.sim``: see ``driver.command``."""

from barnabas.sim.driver.command import program

program()
