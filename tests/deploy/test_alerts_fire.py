"""Every alert fires at what it is for and tells it well, and none fires at a healthy day or a short trouble.

Prometheus's own `promtool` plays the series; in CI it has to be there.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.deploy.test_alerts import RULES
from tests.deploy.troubles import HEALTHY, TROUBLES, Trouble
from tests.services import ROOT

PROMTOOL = shutil.which("promtool") or ROOT / ".cache/promtool/usr/bin/promtool"

pytestmark = pytest.mark.skipif(
    not Path(PROMTOOL).exists() and "CI" not in os.environ, reason="promtool (of Prometheus) is not here"
)


def _play(place: Path, series: dict[str, str], expected: list[dict[str, object]]) -> None:
    """Let promtool play the series and compare; its words are the failure."""
    test = {
        "rule_files": [str(ROOT / "deploy/alerts.yml")],
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "alert_rule_test": expected,
            }
        ],
    }
    file = place / "alerts_test.yml"
    file.write_text(yaml.safe_dump(test))
    done = subprocess.run([PROMTOOL, "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.alert)
def test_an_alert_fires_at_its_trouble_and_tells_it(trouble: Trouble, tmp_path: Path) -> None:
    [rule] = [rule for rule in RULES if rule["alert"] == trouble.alert]
    told = {
        "exp_labels": trouble.labels | rule["labels"],
        "exp_annotations": {"summary": trouble.summary, "runbook": rule["annotations"]["runbook"]},
    }
    _play(
        tmp_path,
        trouble.series,
        [{"eval_time": trouble.at, "alertname": trouble.alert, "exp_alerts": [told]}],
    )


def test_every_alert_has_been_seen_firing() -> None:
    assert [trouble.alert for trouble in TROUBLES] == [rule["alert"] for rule in RULES]


def test_no_alert_fires_on_a_healthy_day_with_short_troubles(tmp_path: Path) -> None:
    quiet = [
        {"eval_time": at, "alertname": rule["alert"], "exp_alerts": []}
        for rule in RULES
        for at in ("2m", "99m", "101m", "102m", "110m", "4h")
    ]
    _play(tmp_path, HEALTHY, quiet)
