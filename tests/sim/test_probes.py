"""What processes tell, and what is suggested to them."""

from barnabas.runtime.runtime import Runtime
from barnabas.sim.probes import Moment, Suggestions
from barnabas.sim.tape import Tape
from barnabas.sim.world import Settings
from tests.sim.worlds import run_to_end, start, world_of


def test_a_point_is_armed_for_a_whole_run_and_then_fires_now_and_then() -> None:
    armed = 0
    for seed in range(200):
        suggestions = Suggestions(Tape(seed), enabled=True)
        answers = [suggestions.yes("yield here") for _ in range(300)]
        armed += any(answers)
        assert sum(answers) < 90
    assert 25 < armed < 75, "about one run in four"


def test_nothing_is_suggested_unless_the_plan_says_so() -> None:
    for seed in range(100):
        suggestions = Suggestions(Tape(seed), enabled=False)
        assert not any(suggestions.yes("yield here") for _ in range(100))


def test_a_moment_says_who_when_and_what() -> None:
    moments: list[Moment] = []

    async def main(runtime: Runtime) -> None:
        assert runtime.probes.listening
        await runtime.clock.sleep_ms(50)
        runtime.probes.trace("step", epoch=3, voter="a")
        runtime.probes.buggify("anything")

    with world_of("a", settings=Settings(buggify=True)) as world:
        world.on("step", moments.append)
        run_to_end(world, start(world, "a", main))
    (moment,) = moments
    assert (moment.host, moment.life, moment.kind) == ("a", 1, "step")
    assert moment.facts == {"epoch": 3, "voter": "a"}
    assert str(moment).split() == [str(moment.at_ms), "ms", "a.1", "step", "epoch=3", "voter='a'"]
