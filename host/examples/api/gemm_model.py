#!/usr/bin/python3
"""Writes the ONNX model of gemm.c: y = x W, with W(k, n) a number of eighths that gemm.c knows too.

usage: gemm_model.py FILE.onnx      (Debian's python3-onnx)"""
import sys

import onnx
from onnx import TensorProto, helper

ROWS, K, N = 64, 96, 32
WEIGHTS = [((7 * k + 3 * n) % 16 - 8) / 8 for k in range(K) for n in range(N)]


def main():
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "W"], ["y"], name="product")], "gemm",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, K])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, N])],
        [helper.make_tensor("W", TensorProto.FLOAT, [K, N], WEIGHTS)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    onnx.save(model, sys.argv[1])


if __name__ == "__main__":
    main()
