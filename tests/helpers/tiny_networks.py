"""ONNX networks of one or two nodes, whose output is known without running them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

FREE = ("n", 3, "h", "w")


def channel_network(channel: int, shape: tuple[int | str, ...] = FREE) -> ModelProto:
    """Returns a network whose map is one channel of its input."""
    weight = np.zeros((1, 3, 1, 1), np.float32)
    weight[0, channel] = 1.0
    node = helper.make_node("Conv", ["image", "weight"], ["depth"])
    return _model([node], shape, TensorProto.FLOAT, [numpy_helper.from_array(weight, "weight")])


def network(
    operator: str,
    shape: tuple[int | str, ...],
    axes: list[int] | None = None,
    half: bool = False,
    then_mean: bool = False,
) -> ModelProto:
    """Returns a network of one operator, averaged over the channels afterwards if asked."""
    kind = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    constants = [numpy_helper.from_array(np.array(axes or [1], np.int64), "axes")]
    inputs = ["image", "axes"] if axes else ["image"]
    nodes = [helper.make_node(operator, inputs, ["middle" if then_mean else "depth"])]
    if then_mean:
        nodes.append(helper.make_node("ReduceMean", ["middle", "axes"], ["depth"]))
    return _model(nodes, shape, kind, constants if axes or then_mean else [])


def save(model: ModelProto, folder: Path) -> Path:
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _model(nodes: list, shape: tuple[int | str, ...], kind: int, constants: list) -> ModelProto:
    image = helper.make_tensor_value_info("image", kind, shape)
    depth = helper.make_tensor_value_info("depth", kind, None)
    graph = helper.make_graph(nodes, "tiny", [image], [depth], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
