from pathlib import Path

from askonce_server.config.document import EXAMPLE, document
from askonce_server.config.environment import variables
from askonce_server.config.load import load
from askonce_server.config.model import Config
from askonce_server.config.schema import schema
from askonce_server.config.wording import item_of, sections_in

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def sections(section=Config, seen=None):
    seen = seen if seen is not None else set()
    if section not in seen:
        seen.add(section)
        for field in section.model_fields.values():
            for below in sections_in(item_of(field.annotation) or field.annotation):
                sections(below, seen)
    return seen


def test_the_reference_page_is_what_the_code_says():
    assert PAGE.read_text() == document(), "run: askonce config document > docs/configuration.md"


def test_every_setting_has_one_sentence_and_a_row():
    page = document()
    assert len(sections()) == 27
    for section in sections():
        for name, field in section.model_fields.items():
            assert field.description, f"{section.__name__}.{name}"
            assert field.description.endswith(".")
            assert ". " not in field.description
            assert f"| `{name}` | " in page
            assert field.description.replace("|", "\\|") in page


def test_the_example_on_the_page_is_a_good_file(tmp_path):
    (tmp_path / "askonce.yaml").write_text(EXAMPLE)
    rules = load(tmp_path / "askonce.yaml", {"HOME": "/home/ada"}).rules
    assert [rule.id for rule in rules] == ["support-bot", "embeddings", "everything-else"]


def test_the_schema_refuses_unknown_names_and_knows_short_forms():
    described = schema()
    assert described["additionalProperties"] is False
    assert all(part["additionalProperties"] is False for part in described["$defs"].values())
    listen = described["properties"]["listen"]["anyOf"]
    assert [form["type"] for form in listen] == ["string", "array"]
    rule = described["$defs"]["RuleSection"]["properties"]
    assert rule["ttl"]["default"] == "1h"
    assert rule["mode"]["enum"] == ["off", "shadow", "serve"]


def test_every_top_level_setting_has_a_variable():
    names = variables()
    assert {f"ASKONCE_{name.upper()}" for name in Config.model_fields} <= set(names)
    assert names["ASKONCE_STORE_MAX_BYTES"].path == ("store", "max_bytes")
    assert "ASKONCE_RULES_ID" not in names
