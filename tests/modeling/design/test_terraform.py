"""Terraform: the arguments of aws_dynamodb_table, as `terraform fmt` would write them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.modeling.design.designs import design_from
from tests.modeling.shop import shop
from torusdb.modeling.design.terraform import PROVIDER_OF_KEY_SCHEMA, terraform

FULL = """
from datetime import datetime
several = GlobalIndex("several", partition_key=["a", number_key("b")], sort_key=["c"], include=["x"],
    throughput=Throughput(1, 2))
local = LocalIndex("local", sort_key="d", include=())
sessions = Table("my-sessions", partition_key="pk", sort_key="sk", indexes=[several, local], options=TableOptions(
    provisioned=Throughput(5, 6), stream="NEW_IMAGE", table_class="STANDARD_INFREQUENT_ACCESS",
    deletion_protection=True, point_in_time_recovery=True, kms_key="arn:aws:kms:eu-west-1:1:key/2",
    tags={"cost": "7 ${x} %{if}", "a": "\\"quoted\\""},
))
class Session(Entity, table=sessions):
    key = Key("S#{id}", "S")
    id: Attr[str]
    ends: Attr[datetime] = ttl()
most = Table("most", partition_key="pk", options=TableOptions(on_demand_max=Throughput(3, 4), kms_key=AWS_MANAGED_KEY),
    indexes=[GlobalIndex("one", partition_key="a", sort_key="b")])
"""

EXPECTED = (
    f"""\
terraform {{
  required_providers {{
    aws = {{
      source  = "hashicorp/aws"
      version = ">= {PROVIDER_OF_KEY_SCHEMA}"
    }}
  }}
}}
"""
    + """
resource "aws_dynamodb_table" "my_sessions" {
  name                        = "my-sessions"
  billing_mode                = "PROVISIONED"
  read_capacity               = 5
  write_capacity              = 6
  hash_key                    = "pk"
  range_key                   = "sk"
  stream_enabled              = true
  stream_view_type            = "NEW_IMAGE"
  table_class                 = "STANDARD_INFREQUENT_ACCESS"
  deletion_protection_enabled = true
  tags = {
    "a"    = "\\"quoted\\""
    "cost" = "7 $${x} %%{if}"
  }

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "sk"
    type = "S"
  }

  attribute {
    name = "a"
    type = "S"
  }

  attribute {
    name = "b"
    type = "N"
  }

  attribute {
    name = "c"
    type = "S"
  }

  attribute {
    name = "d"
    type = "S"
  }

  global_secondary_index {
    name               = "several"
    projection_type    = "INCLUDE"
    non_key_attributes = ["x"]
    read_capacity      = 1
    write_capacity     = 2

    key_schema {
      attribute_name = "a"
      key_type       = "HASH"
    }

    key_schema {
      attribute_name = "b"
      key_type       = "HASH"
    }

    key_schema {
      attribute_name = "c"
      key_type       = "RANGE"
    }
  }

  local_secondary_index {
    name            = "local"
    range_key       = "d"
    projection_type = "KEYS_ONLY"
  }

  ttl {
    attribute_name = "ends"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = "arn:aws:kms:eu-west-1:1:key/2"
  }
}

resource "aws_dynamodb_table" "most" {
  name         = "most"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "pk"

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "a"
    type = "S"
  }

  attribute {
    name = "b"
    type = "S"
  }

  global_secondary_index {
    name            = "one"
    hash_key        = "a"
    range_key       = "b"
    projection_type = "ALL"

    on_demand_throughput {
      max_read_request_units  = 3
      max_write_request_units = 4
    }
  }

  on_demand_throughput {
    max_read_request_units  = 3
    max_write_request_units = 4
  }

  server_side_encryption {
    enabled = true
  }
}
"""
)


def test_a_configuration_of_everything() -> None:
    assert terraform(design_from(FULL).tables) == EXPECTED


def test_a_provider_is_asked_for_only_where_it_has_to_be_new() -> None:
    assert terraform([shop]).startswith('resource "aws_dynamodb_table" "shop" {\n')


def test_terraform_itself_reads_it_and_would_write_it_so(tmp_path: Path) -> None:
    program = shutil.which("terraform")
    if program is None:
        pytest.skip("terraform is not installed")
    (tmp_path / "main.tf").write_text(terraform(design_from(FULL).tables))
    command = [program, "fmt", "-check", "-diff", "main.tf"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (run.returncode, run.stdout) == (0, ""), run.stderr
