#!/usr/bin/env python3
"""usage: speech_or_not.py silero_vad-6.2.3-py3-none-any.whl FOLDER [--chip CHIP] [--core CORE] [--seed SEED]

Makes a recording of silence, syllables, noise and a tone, and has the voice activity detector silero-vad (MIT; the network
comes out of its wheel) say on a simulated chip, 31 times a second, how likely somebody speaks. Writes the recording
(speech_or_not.wav), the network and a picture, speech_or_not.svg, to FOLDER. WEFT names the weft command. Ends with 1 if an
answer is wrong.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import wave
import zipfile

import numpy as np

NETWORK = "silero_vad/data/silero_vad_16k_sequence.onnx"
RATE = 16_000                      # samples a second
FRAME, CONTEXT = 512, 64           # samples of a frame, and of the frame before that the network sees too
FRAMES = 64                        # that one run of the network takes; its state goes on to the next
STATE = 128
# Formants of vowels: centre and width in Hz.
VOWELS = {
    "a": ((700, 80), (1220, 90), (2600, 120)), "e": ((530, 70), (1850, 100), (2500, 120)), "i": ((300, 60), (2300, 100), (3000, 120)),
    "o": ((500, 70), (900, 80), (2400, 120)), "u": ((320, 60), (870, 80), (2250, 120)),
}
WORDS = ("masa", "lisute", "omai", "selau")


def resonated(samples, first, second):
    """y[i] = x[i] + first y[i - 1] - second y[i - 2]."""
    out = np.zeros_like(samples)
    before = earlier = 0.0
    for i, x in enumerate(samples):
        before, earlier = x + first * before - second * earlier, before
        out[i] = before
    return out


def vowel(pitch, formants, seconds):
    """Pulses of a voice through the resonances of a mouth, as Klatt's synthesiser has them in a row."""
    time = np.arange(int(RATE * seconds)) / RATE
    phase = np.cumsum(pitch * (1 + 0.03 * np.sin(2 * np.pi * 5 * time))) / RATE
    sound = np.append(0.0, (np.diff(np.floor(phase)) > 0).astype(float))
    for _ in range(2):
        sound = resonated(sound, 0.95, 0.0)
    for centre, width in formants:
        radius = np.exp(-np.pi * width / RATE)
        sound = resonated(sound, 2 * radius * np.cos(2 * np.pi * centre / RATE), radius * radius)
    sound -= sound.mean()
    edge = np.minimum(np.arange(len(sound)), np.arange(len(sound))[::-1]) / (0.02 * RATE)
    return 0.5 * sound / np.abs(sound).max() * np.minimum(1, edge)


def word(letters, random):
    parts = []
    for letter in letters:
        if letter in VOWELS:
            parts.append(vowel(120 * random.uniform(0.9, 1.1), VOWELS[letter], random.uniform(0.09, 0.16)))
        elif letter == "s":
            parts.append(0.05 * np.convolve(random.standard_normal(int(0.08 * RATE)), [1, -0.9], "same"))
        else:
            parts.append(np.zeros(int(0.04 * RATE)))
    return np.concatenate([*parts, np.zeros(int(0.04 * RATE))])


def recording(seed):
    """Samples, and the parts: name, first second, last second."""
    random = np.random.default_rng(seed)
    noise = lambda seconds, size: size * random.standard_normal(int(seconds * RATE))
    tone = 0.2 * np.sin(2 * np.pi * 440 * np.arange(int(0.6 * RATE)) / RATE)
    parts = (("silence", noise(0.8, 0.001)), ("speech", np.concatenate([word(letters, random) for letters in WORDS])), ("silence", noise(0.8, 0.001)),
             ("noise", noise(0.8, 0.05)), ("silence", noise(0.4, 0.001)), ("tone", tone), ("silence", noise(0.3, 0.001)))
    ends = np.cumsum([len(samples) for _, samples in parts]) / RATE
    spans = [(name, float(end - len(samples) / RATE), float(end)) for (name, samples), end in zip(parts, ends, strict=True)]
    return np.concatenate([samples for _, samples in parts]).astype(np.float32), spans


def frames_of(samples):
    """[frames, 576]: each frame behind the end of the one before."""
    count = len(samples) // FRAME
    padded = np.append(np.zeros(CONTEXT, np.float32), samples[:count * FRAME])
    return np.stack([padded[i * FRAME:i * FRAME + CONTEXT + FRAME] for i in range(count)])


def answers(network, frames, folder, options):
    """The likelihood of speech in each frame, and the device cycles of all runs."""
    state = {"h": np.zeros((1, 1, STATE), np.float32), "c": np.zeros((1, 1, STATE), np.float32)}
    likely, cycles = [], 0
    for first in range(0, len(frames), FRAMES):
        given = {"input": frames[first:first + FRAMES], **state}
        command = [os.environ.get("WEFT", "weft"), "run", network, "--chip", options.chip, "--core", options.core, "--verify", "--json"]
        for name, array in given.items():
            np.save(folder / f"{name}.npy", array)
            command += ["--input", f"{name}={folder / name}.npy"]
        for name in ("speech_probs", "hn", "cn"):
            command += ["--output", f"{name}={folder / name}.npy"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"speech_or_not.py: {done.stderr or done.stdout}")
        cycles += json.loads(done.stdout)["device_cycles"]
        likely.append(np.load(folder / "speech_probs.npy").ravel())
        state = {"h": np.load(folder / "hn.npy").reshape(1, 1, STATE), "c": np.load(folder / "cn.npy").reshape(1, 1, STATE)}
    return np.concatenate(likely), cycles


def picture(samples, spans, likely, title):
    """The recording, what is in it, and below how likely the network finds speech."""
    width, left = 680, 16
    scale = width / (len(samples) / RATE)
    parts = [f'<text x="{left}" y="16" font-size="11" fill="#666">{title}</text>']
    for name, begin, end in spans:
        colour = "#dbe9f6" if name == "speech" else "#f4f4f4"
        parts.append(f'<rect x="{left + begin * scale:.1f}" y="24" width="{(end - begin) * scale:.1f}" height="196" fill="{colour}" stroke="#ccc"/>')
        parts.append(f'<text x="{left + begin * scale + 4:.1f}" y="38" font-size="11">{name}</text>')
    columns = np.array_split(np.abs(samples), width)
    path = " ".join(f"M{left + i} {80 - 34 * float(c.max()):.1f}V{80 + 34 * float(c.max()):.1f}" for i, c in enumerate(columns))
    parts.append(f'<path d="{path}" stroke="#555" fill="none"/>')
    step = FRAME / RATE * scale
    line = " ".join(f"{left + (i + 0.5) * step:.1f},{212 - 80 * p:.1f}" for i, p in enumerate(likely))
    parts.append(f'<line x1="{left}" x2="{left + width}" y1="172" y2="172" stroke="#999" stroke-dasharray="4"/>')
    parts.append(f'<polyline points="{line}" stroke="#1f77b4" stroke-width="1.5" fill="none"/>')
    parts += [f'<text x="{left + width + 4}" y="{212 - 80 * p + 4:.0f}" font-size="10" fill="#666">{p:g}</text>' for p in (0, 0.5, 1)]
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="724" height="230" font-family="sans-serif"><rect width="724" height="230" fill="#fff"/>{"".join(parts)}</svg>\n'


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--chip", default="v5e-1mxu")
    parser.add_argument("--core", default="fast")
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    network = options.folder / "speech_or_not.onnx"
    with zipfile.ZipFile(options.wheel) as wheel:
        network.write_bytes(wheel.read(NETWORK))
    samples, spans = recording(options.seed)
    with wave.open(str(options.folder / "speech_or_not.wav"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(RATE)
        sound.writeframes((samples * 32767).astype("<i2").tobytes())
    likely, cycles = answers(network, frames_of(samples), options.folder, options)
    wrong = 0
    for name, begin, end in spans:
        inside = likely[int(np.ceil(begin * RATE / FRAME)):int(end * RATE / FRAME)]
        share = float((inside > 0.5).mean())
        # The network takes some frames to notice that the speech has ended.
        right = share > 0.9 if name == "speech" else share < 0.25
        wrong += not right
        print(f"{begin:4.1f} s to {end:4.1f} s  {name:8s} speech in {100 * share:5.1f} % of {len(inside):2d} frames{'' if right else '  WRONG'}")
    title = f"silero-vad on {options.chip}: {len(likely)} frames of 32 ms, {cycles} device cycles"
    (options.folder / "speech_or_not.svg").write_text(picture(samples, spans, likely, title), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
