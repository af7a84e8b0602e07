"""The judge of the ONNX campaigns: each thing that it must find, it finds; what is right passes."""
import json
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import oracle
from bounds import values_of
from corruptions import CORRUPTIONS
from oracle import Outcome
from random_models import KINDS, draw

REFUSAL = "weft: m.onnx: node 0 'n' (Conv): the operator is not built; supported: Gemm\n"


def product(columns=3):
    """y = x W, z = y: two outputs."""
    weights = numpy_helper.from_array(np.arange(4 * columns, dtype=np.float32).reshape(4, columns) / 8, "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Identity", ["y"], ["z"])]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, columns]) for name in "yz"]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])], outputs, [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


class Judge(unittest.TestCase):
    def setUp(self):
        self.model = product()
        self.arrays = {"x": np.array([[1, 2, 3, 4], [-1, 0.5, 0, 2]], np.float32)}
        self.verdict = oracle.ask_onnx(self.model, self.arrays)
        self.assertEqual(self.verdict.refusal, "")

    def judged(self, outputs, differing=0, elements=12):
        outcome = Outcome(0, json.dumps({"differing": differing, "elements": elements}), "", outputs)
        return oracle.judge(self.model, self.arrays, self.verdict, outcome, must_take=True)[0]

    def right(self):
        return {name: value.copy() for name, value in self.verdict.outputs.items()}

    def test_right_results_pass(self):
        self.assertEqual(self.judged(self.right()), "")

    def test_a_wrong_value_is_found_in_each_output(self):
        for name in "yz":
            outputs = self.right()
            outputs[name][1, 2] *= 1.05
            self.assertIn(f"output {name}[1, 2] is", self.judged(outputs))

    def test_a_value_that_is_not_finite_is_found(self):
        for bad in (np.nan, np.inf):
            outputs = self.right()
            outputs["z"][0, 0] = bad
            self.assertIn("output z[0, 0] is", self.judged(outputs))

    def test_a_wrong_shape_or_type_is_found_even_if_the_values_are_right(self):
        for change in (lambda a: a.reshape(3, 2), lambda a: a.reshape(1, 2, 3), lambda a: a[:1], lambda a: a.astype(np.float64)):
            outputs = self.right()
            outputs["z"] = change(outputs["z"])
            self.assertIn("output z is", self.judged(outputs))

    def test_an_output_that_is_not_written_is_found(self):
        self.assertIn("not written", self.judged({**self.right(), "z": None}))
        self.assertIn("the model has", self.judged({"y": self.right()["y"]}))
        self.assertNotEqual(self.judged({}), "")

    def test_a_verification_that_compares_too_little_is_found(self):
        for differing, elements in ((0, 6), (0, 0), (0, None), (1, 12), (None, 12)):
            self.assertIn("--verify compared", self.judged(self.right(), differing, elements))

    def test_exit_codes_other_than_success_and_refusal_are_found(self):
        for code in (-11, -1, 1, 3, 4, 5, 6, 7):
            wrong, _ = oracle.judge(self.model, self.arrays, self.verdict, Outcome(code, "", "weft: x\n"))
            self.assertIn(f"exit code {code}", wrong)

    def test_a_refusal_names_a_place_on_one_line(self):
        def refused(err, out="", must_take=False, verdict=self.verdict):
            return oracle.judge(self.model, self.arrays, verdict, Outcome(2, out, err), must_take)[0]
        self.assertEqual(refused(REFUSAL), "")
        self.assertEqual(refused("weft: m.onnx: input 'x': dimension 0 is 0\n"), "")
        self.assertIn("names neither", refused("weft: m.onnx: it is wrong\n"))
        self.assertIn("one line", refused(REFUSAL + "Aborted\n"))
        self.assertIn("one line", refused(REFUSAL, out="{}"))
        self.assertIn("promises", refused(REFUSAL, must_take=True))

    def test_what_onnx_refuses_must_not_be_taken(self):
        self.model.graph.node[1].input.append("y")
        self.verdict = oracle.ask_onnx(self.model, self.arrays)
        self.assertIn("onnx.checker", self.verdict.refusal)
        self.assertIn("takes what ONNX refuses", self.judged({}))
        self.model = product()
        self.model.graph.initializer[0].dims[0] = 2
        self.model.graph.initializer[0].dims[1] = 6
        self.assertNotEqual(oracle.ask_onnx(self.model, self.arrays).refusal, "")

    def test_an_operator_without_a_bound_is_not_judged_right(self):
        self.model.graph.node[1].op_type = "Softsign"
        self.verdict = oracle.ask_onnx(self.model, self.arrays)
        self.assertIn("Softsign", self.judged({name: np.zeros((2, 3), np.float32) for name in "yz"}))


class Bounds(unittest.TestCase):
    def test_the_values_beside_the_bounds_are_onnxruntimes(self):
        compared = 0
        for index in (i for i in range(60) if KINDS[i % len(KINDS)] == "plain"):
            _, model, arrays = draw(3, index)
            values = values_of(model, arrays)
            for name, expected in oracle.ask_onnx(model, arrays).outputs.items():
                exact, bound = values[name]
                self.assertEqual(exact.shape, expected.shape)
                self.assertTrue((np.abs(exact - expected) <= bound + 1e-30).all(), f"model {index}, {name}")
                # Three roundings to bf16 of numbers of this size, and no order of magnitude more.
                self.assertLess(np.median(bound), 2.0 ** -3 * max(1.0, float(np.abs(exact).max())))
                compared += expected.size
        self.assertGreater(compared, 500)


class Draw(unittest.TestCase):
    def test_a_seed_draws_the_same_models(self):
        for index in range(20):
            kinds, models, arrays = zip(*(draw(9, index) for _ in range(2)), strict=True)
            self.assertEqual(kinds[0], kinds[1])
            self.assertEqual(models[0].SerializeToString(), models[1].SerializeToString())
            for name, array in arrays[0].items():
                np.testing.assert_array_equal(array, arrays[1][name])
        self.assertNotEqual(draw(9, 0)[1].SerializeToString(), draw(10, 0)[1].SerializeToString())

    def test_plain_models_are_models(self):
        for index in (i for i in range(100) if KINDS[i % len(KINDS)] == "plain"):
            _, model, arrays = draw(4, index)
            self.assertEqual(oracle.ask_onnx(model, arrays).refusal, "", f"model {index}")

    def test_each_corruption_changes_a_model(self):
        rng = np.random.default_rng(1)
        models = [draw(5, i)[1] for i in range(40) if KINDS[i % len(KINDS)] == "plain"]
        for name, change in CORRUPTIONS.items():
            changed = 0
            for model in models:
                whole = model.SerializeToString()
                broken = type(model).FromString(whole)
                change(rng, broken)
                changed += broken.SerializeToString() != whole
            self.assertGreater(changed, 0, name)


if __name__ == "__main__":
    unittest.main()
