"""host/examples/jax on Weft against the same scripts by JAX on the CPU.

environment: WEFT_CHIPS, WEFT_CORE, WEFT_SIM, WEFT_PJRT_LIBRARY, EXAMPLE_STEPS (20: of training)
"""

import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "host" / "python"), str(ROOT / "host" / "examples" / "jax")]
os.environ["JAX_PLATFORMS"] = "weft,cpu"

import decode  # noqa: E402
import digits_cnn  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import language_model  # noqa: E402
import mixed_precision  # noqa: E402
import numpy as np  # noqa: E402
import transformer  # noqa: E402

STEPS, SEED = int(os.environ.get("EXAMPLE_STEPS", "20")), 1
SMALL = transformer.Size(width=16, heads=2, layers=2, length=16, batch=4)


def on(platform: str, function):
    with jax.default_device(jax.devices(platform)[0]):
        return function()


def both(function) -> list[np.ndarray]:
    print(f"seed {SEED}, {STEPS} steps", file=sys.stderr)
    return [np.array(on(platform, function)) for platform in ("weft", "cpu")]


class Losses(unittest.TestCase):
    def compare(self, train):
        ours, reference = both(train)
        self.assertEqual(len(ours), STEPS)
        self.assertLess(reference[-1], reference[0])
        np.testing.assert_allclose(np.mean(ours[-10:]), np.mean(reference[-10:]), rtol=0.02)
        with jax.default_matmul_precision("highest"):
            ours, reference = both(train)
        np.testing.assert_allclose(ours[0], reference[0], rtol=1e-5)
        np.testing.assert_allclose(ours[-1], reference[-1], rtol=1e-3)

    def test_a_language_model_learns_as_on_the_cpu(self):
        self.compare(lambda: language_model.train(STEPS, SEED, SMALL))

    @unittest.skipUnless(importlib.util.find_spec("flax") and importlib.util.find_spec("optax"), "flax and optax are not installed")
    def test_a_language_model_in_flax_learns_as_on_the_cpu(self):
        import flax_model

        self.compare(lambda: flax_model.train(STEPS, SEED, SMALL))

    def test_a_convolutional_network_learns_as_on_the_cpu(self):
        self.compare(lambda: digits_cnn.train(STEPS, SEED)[0])


class MixedPrecision(unittest.TestCase):
    def test_a_language_model_in_bfloat16_learns_as_on_the_cpu(self):
        ours, reference = both(lambda: mixed_precision.train(STEPS, SEED, SMALL))
        self.assertLess(reference[-1], reference[0])
        np.testing.assert_allclose(np.mean(ours[-10:]), np.mean(reference[-10:]), rtol=0.02)

    def test_training_goes_on_from_a_checkpoint_bit_by_bit(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "checkpoint.npz"
            whole = on("weft", lambda: mixed_precision.train(6, SEED, SMALL))
            halves = [on("weft", lambda: mixed_precision.train(3, SEED, SMALL, path)) for _ in range(2)]
        self.assertEqual(halves[0] + halves[1], whole)


class Decoding(unittest.TestCase):
    def test_a_cache_decodes_what_the_whole_text_decodes_on_both_platforms(self):
        prompt = jnp.zeros(SMALL.length, jnp.int32).at[:4].set(jnp.array(list(b"The "), jnp.int32))
        p = on("cpu", lambda: decode.trained(STEPS, SEED, SMALL))
        p, prompt = jax.tree.map(np.asarray, (p, prompt))
        texts = []
        with jax.default_matmul_precision("highest"):
            for platform in ("weft", "cpu"):
                for function in (decode.decode, decode.decode_without_cache):
                    known = np.int32(4) if function is decode.decode else 4
                    texts.append(np.asarray(on(platform, lambda f=function, k=known: f(p, prompt, k, SMALL))).tolist())
        self.assertEqual(texts[0][:4], list(b"The "))
        for text in texts[1:]:
            self.assertEqual(text, texts[0])


if __name__ == "__main__":
    unittest.main()
