"""Pure: the columns of the frames `placements`, `claims`, `partitions`, `nodes` and `checks`, without those that say
of which attempt or phone."""

from __future__ import annotations

from orchestrator.store.meaning import ColumnMeaning as _C
from orchestrator.store.meaning import Columns

PLACEMENT: Columns = {
    "known": _C("", "whether it is certain what NNAPI took", "flag"),
    "why": _C("", "why it is not, or why NNAPI took nothing beforehand"),
    "partitions": _C("", "NNAPI's partitions; missing: not known", "int"),
    "nodes_claimed": _C("", "nodes that NNAPI took, layout Transposes included; missing: not known", "int"),
    "nodes_in_graph": _C("", "nodes of the graph then, layout Transposes included", "int"),
    "nodes_before_layout": _C("", "nodes of the graph before the layout pass; missing: it did not work", "int"),
    "claimed_before_layout": _C("", "nodes that NNAPI would take before the layout pass", "int"),
    "devices": _C("", "NNAPI's devices as (name, type); missing: not told", "list"),
    "feature_level": _C("", "NNAPI's effective feature level", "int"),
    "placed": _C("", "nodes by execution provider, as the session counted them", "list"),
}

NODE: Columns = {
    "node": _C("", "the node's index, in topological order", "int"),
    "name": _C("", "its name"),
    "operator": _C("", "its operator: Conv, com.microsoft:FusedConv"),
    "shape": _C("", "its first output's dimensions, -1 where one is not fixed; missing: not known", "list"),
    "after": _C("", "indices of the nodes whose outputs it takes", "list"),
    "partition": _C("", "NNAPI's partition that should have it, from 0; missing: it stays on the CPU", "int"),
    "reason": _C("", "why it stays on the CPU"),
}

CLAIM: Columns = {
    "step": _C("", "the how-manieth look at the graph, from 1; the last counts", "int"),
    "last": _C("", "whether it is the look that counts", "flag"),
    "index": _C("", "the node's index in the graph", "int"),
    "operator": _C("", "its operator"),
    "node": _C("", "its name"),
    "supported": _C("", "whether NNAPI can take it; alone in its group it is dropped all the same", "flag"),
    "reason": _C("", "why not, in the runtime's words; missing where it did not say"),
}

PARTITION: Columns = {
    "partition": _C("", "the partition's name in the trace"),
    "count": _C("", "executions over all runs but the warm-up", "int"),
    "runs": _C("", "whole runs in the trace but the warm-up", "int"),
    "total_s": _C("s", "time in it over all executions, copies to and from the driver included", "float"),
    "min_s": _C("s", "its shortest execution", "float"),
    "max_s": _C("s", "its longest execution", "float"),
    "share": _C("", "part of the time in all nodes, 0 to 1", "float"),
    "nodes": _C("", "names of the nodes that it should have, as predicted; missing: the pieces don't match", "list"),
    "mean_s": _C("s", "its mean time in a run", "float"),
    "cpu_mean_s": _C("s", "mean time of the same nodes in a traced run on the CPU; missing: not traced", "float"),
    "complete": _C("", "whether the whole trace was there and understood", "flag"),
}

CHECK: Columns = {
    "output": _C("", "the output's name; missing: it stands for all"),
    "element_type": _C("", "its elements"),
    "checked": _C("", "whether it is known how far it is from what is expected", "flag"),
    "why": _C("", "why it is not"),
    "difference": _C("", "equal, differs, not finite, or other shape"),
    "error_db": _C(
        "dB",
        "10·log10(largest expected value / largest difference), rounded down; missing: it does not differ so",
        "float",
    ),
    "peak": _C("", "the largest expected value", "float"),
    "tolerance_db": _C("dB", "what it has to reach", "float"),
    "within": _C("", "whether it does; missing: not checked", "flag"),
    "reference": _C("", "whether the case is the phone's own reference (cpu_only), which is not ranked", "flag"),
}

PREDICTION: Columns = {
    "variant": _C("", "digest of model, recipe and converter"),
    "recipe": _C("", "how the variant was made: onnx, all, basic runtime"),
    "nnapi_flags": _C("", "flags of NNAPI's execution provider", "list"),
    "feature_level": _C("", "NNAPI's feature level that the rules were asked with", "int"),
    "nodes": _C("", "nodes of the graph that the runtime asks about", "int"),
    "nodes_claimed": _C("", "nodes that NNAPI should take", "int"),
    "partitions": _C("", "pieces that they make", "int"),
    "partition_operators": _C("", "the operators of each piece", "list"),
    "multiply_adds": _C("", "multiply-adds of one run of the whole graph; missing where a shape is not known", "int"),
    "multiply_adds_claimed": _C("", "those in nodes that NNAPI should take", "int"),
    "not_taken": _C("", "operator, reason and number of nodes that stay on the CPU", "list"),
    "not_checked": _C("", "nodes of which no rule here says anything", "int"),
    "caveat": _C("", "what the rules leave out that may matter here"),
}
