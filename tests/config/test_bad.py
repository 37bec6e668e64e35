"""One bad file for each mistake; the problems that it must have stand beside it, one a line."""

from pathlib import Path

import pytest

from askonce_server.config.load import ConfigError, load

FILES = sorted((Path(__file__).parent / "bad").glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_mistake_is_named_with_its_line_path_and_mend(file):
    with pytest.raises(ConfigError) as caught:
        load(file, {"HOME": "/home/ada"})

    written = [str(problem).removeprefix(f"{file.parent}/") for problem in caught.value.problems]
    assert written == file.with_suffix(".txt").read_text().splitlines()


def test_every_expectation_has_its_file():
    assert len(FILES) > 40
    assert {file.stem for file in FILES} == {file.stem for file in FILES[0].parent.glob("*.txt")}
