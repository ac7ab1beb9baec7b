"""Every file of the corpus is recognised as what it is, whatever else could be mistaken for it; the parts that formats share."""

import json

import pytest
from foreign import CORPUS

from compactor.formats import HEAD_BYTES, detect
from compactor.readers import read_transcript

FORMATS = {
    "pi": "pi", "openclaw": "pi", "claude-code": "claude-code", "codex": "codex", "gemini-cli": "gemini-cli", "hermes": "hermes",
    "kimi-cli": "kimi-cli", "kimi-code-wire": "kimi-wire", "qwen-code": "qwen-code",
}  # fmt: skip
FILES = [(path, name) for folder, name in FORMATS.items() for path in sorted((CORPUS / folder).glob("*.json*"))]


@pytest.mark.skipif(not FILES, reason="the folder ../shared with the corpus is not beside this checkout")
def test_every_file_of_the_corpus_is_told_by_its_contents():
    for path, name in FILES:
        text = path.read_text()
        assert read_transcript(path).report.format == name, path
        assert detect(text[:HEAD_BYTES], whole=False).format == name, path
        if path.suffix == ".json":
            assert detect(json.dumps(json.loads(text)), whole=True).format == name, path
