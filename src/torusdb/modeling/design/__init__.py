"""Looking before running: what a model is, costs and lacks, before there is a table.

`load_design` finds the tables, entities and patterns in a Python file, with the `Workload` that their author expects.
The tools are functions of a `Design`: they read it, and touch no table unless they are given a client."""

from torusdb.modeling.design.capacity import Plan, plan
from torusdb.modeling.design.lints import Finding, lint
from torusdb.modeling.design.loading import Design, design_of, load_design
from torusdb.modeling.design.relations import Relation, relations_of
from torusdb.modeling.design.samples import Samples, samples_of
from torusdb.modeling.design.workload import Accepted, Rate, Volume, Workload

__all__ = [
    "Accepted",
    "Design",
    "Finding",
    "Plan",
    "Rate",
    "Relation",
    "Samples",
    "Volume",
    "Workload",
    "design_of",
    "lint",
    "load_design",
    "plan",
    "relations_of",
    "samples_of",
]
