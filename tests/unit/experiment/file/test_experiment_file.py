"""The experiment file: what it may say, and what is said of what it may not."""

import pytest

from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment

SOUND = """
[experiment]
name = "xz-vs-bzip2"
question = "Which compressor removes more bytes per second?"
replicates = 15
seed = 20130421

[[package]]
name = "xz"
path = "packages/xz"            # folder or .tar.gz

[[package]]
name = "bzip2"
path = "packages/bzip2"

[constraints]
arch = ["x86_64", "aarch64"]
min_memory = "2GiB"

[factors]
optimization = "100%"
link_order = ["default", "alphabetical", "reverse"]
aslr = ["on", "off"]
env_padding = [0, 10928]

[responses.compression_rate]
unit = "B/s"
formula = "(input_bytes - output_bytes) / wall_time_s"
direction = "higher"
"""


def parse(text: str):
    return parse_experiment(text, name="experiment.toml")


def test_the_published_shape_is_understood() -> None:
    experiment = parse(SOUND)
    assert experiment.name == "xz-vs-bzip2"
    assert experiment.replicates == 15
    assert experiment.seed == 20130421
    assert [package.name for package in experiment.packages] == ["xz", "bzip2"]
    assert experiment.constraints.arch == ("x86_64", "aarch64")
    assert experiment.constraints.min_memory_bytes == 2 * 2**30
    assert experiment.factors[0].coverage == 1.0
    assert experiment.factors[3].levels == ("0", "10928")
    assert experiment.responses[0].direction == "higher"


def test_an_experiment_without_responses_measures_wall_time() -> None:
    text = SOUND[: SOUND.index("[responses")]
    assert parse(text).responses[0].formula == "wall_time_s"


def test_an_experiment_without_a_seed_has_the_same_one_every_time() -> None:
    text = SOUND.replace("seed = 20130421", "")
    assert parse(text).seed == parse(text).seed != 0


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ("optimization", "optimisation", "experiment.toml:21", 'Did you mean "optimization"?'),
        ('"reverse"', '"revers"', "experiment.toml:22", 'Did you mean "reverse"?'),
        ("replicates", "replicas", "experiment.toml:5", 'Did you mean "replicates"?'),
        ("[constraints]", "[constraint]", "experiment.toml:16", 'Did you mean "constraints"?'),
        ('"B/s"', '"Bs"', "experiment.toml:27", "unknown unit"),
        ('"B/s"', '"MiBB/s"', "experiment.toml:27", 'Did you mean "MiB"?'),
        ("wall_time_s", "wall_time_s +", "experiment.toml:28", "not a formula"),
        ("/ wall_time_s", "/ 0", "experiment.toml:28", "divides by zero"),
        ("input_bytes -", "__import__('os') -", "experiment.toml:28", "unknown function"),
        ("input_bytes -", "(lambda: 1)() -", "experiment.toml:28", "not arithmetic"),
        ('"higher"', '"up"', "experiment.toml:29", "unknown direction"),
        ("15", "0", "experiment.toml:5", "from 1 to"),
        ("15", '"many"', "experiment.toml:5", "a whole number"),
        ("seed = 20130421", "confidence = 0.3", "experiment.toml:6", "between 0.5 and 1"),
        ("seed = 20130421", "alpha = 0.9", "experiment.toml:6", "between 0 and 0.5"),
        ("15", "true", "experiment.toml:5", "a whole number"),
        ('"100%"', '"175%"', "experiment.toml:21", "cannot exceed 100%"),
        ("[0, 10928]", "[0, 3]", "experiment.toml:24", "out of range"),
        ("[0, 10928]", "[0, 0]", "experiment.toml:24", "named twice"),
        ("[0, 10928]", "[-1]", "experiment.toml:24", "not a whole number"),
        ('["on", "off"]', "[]", "experiment.toml:23", "no levels"),
        ('"2GiB"', '"2 elephants"', "experiment.toml:18", "unknown unit of size"),
        ("[responses.compression_rate]", "[responses.aslr]", "experiment.toml:26", "name of a factor"),
        ("[responses.compression_rate]", "[responses.cycles]", "experiment.toml:26", "name of a built-in"),
        ('unit = "B/s"', "", "experiment.toml:26", "needs a unit"),
        ("15", "true", "experiment.toml:5", "not true"),
        ('name = "bzip2"', 'name = "xz"', "experiment.toml:13", "two packages"),
        ('path = "packages/bzip2"', "", "[package] path", "needs a path"),
        ('name = "xz-vs-bzip2"', 'name = "a/b"', "experiment.toml:3", "needs a name"),
        ("seed = 20130421", 'seed = 1\nbaseline = "xzz"', "experiment.toml:7", 'Did you mean "xz"?'),
        ('path = "packages/bzip2"', 'path = "b"\nfolders = "/srv"', "experiment.toml:15", "a list of texts"),
        ('path = "packages/bzip2"', 'path = "b"\nfolders = ["~/x"]', "experiment.toml:15", "the whole path"),
        (
            'path = "packages/bzip2"',
            'path = "b"\nfolders = ["/a/.."]',
            "experiment.toml:15",
            "the whole path",
        ),
        ("seed = 20130421", "seed = ", "experiment.toml:6", "not valid TOML"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_a_remedy(old: str, new: str, where: str, words: str) -> None:
    assert old in SOUND
    with pytest.raises(InputError) as caught:
        parse(SOUND.replace(old, new, 1))
    assert where in caught.value.where
    assert words in str(caught.value)


def test_an_experiment_without_packages_is_refused() -> None:
    with pytest.raises(InputError, match="names no package"):
        parse('[experiment]\nname = "a"\n')


def test_a_package_in_a_guest_cannot_ask_for_folders_of_the_host() -> None:
    text = SOUND.replace("seed = 20130421", 'isolation = "guest"')
    text = text.replace('path = "packages/bzip2"', 'path = "packages/bzip2"\nfolders = ["/srv/spec"]')
    with pytest.raises(InputError, match="a guest sees none of them") as raised:
        parse(text)
    assert raised.value.where.startswith("experiment.toml:15")
