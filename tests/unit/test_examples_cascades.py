"""The guide to cascades runs from top to bottom."""

import re
from pathlib import Path

import pytest

pytest.importorskip("skimage", reason="the guide's images come from scikit-image")

GUIDE = Path(__file__).parents[2] / "docs" / "cascades.md"


@pytest.mark.slow
def test_the_code_of_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 5
    exec(compile("\n".join(blocks), "docs/cascades.md", "exec"), {})  # noqa: S102
