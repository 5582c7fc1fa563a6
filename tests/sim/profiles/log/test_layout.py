"""Where the logs lie."""

from barnabas.sim.profiles.log.layout import CONFIGS, HOMES, LED, LOGS, PATHS, log_path


def test_every_log_has_a_home_and_settings() -> None:
    assert tuple(CONFIGS) == LOGS
    assert set(HOMES) == set(LOGS)
    assert {HOMES[name] for name in LED} == set(PATHS), "each directory is appended to"
    assert CONFIGS["keyed"].compact
    assert log_path("keyed") == "/data/b/keyed-0"
