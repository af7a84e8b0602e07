"""Four chips from Python: queues that wait for each other, a command buffer, coroutines, and a sum over the slice's links. Needs NumPy, no JAX.

usage: PYTHONPATH=host/python python3 host/examples/python/four_chips.py [SLICE]      SLICE: nano-2x2 unless told
"""

import asyncio
import sys

import numpy as np

import weft


def main() -> int:
    with weft.open_slice(sys.argv[1] if len(sys.argv) > 1 else "nano-2x2") as chips:
        info = chips.info
        print(f"{info.chips} chips, {info.dimensions[0]} x {info.dimensions[1]}; chip 3 is at {chips.place(3).coordinates}, beside {chips.place(3).neighbors}")

        # Two queues of one chip: the copy starts when the fill has succeeded.
        chip = chips.devices[0]
        first, second, filled = chip.queue(), chip.queue(), chip.semaphore()
        words, host = chip.buffer(64), chip.buffer(64, weft.Memory.HOST)
        copied = second.copy(host, words, 64, after=(filled, 1))
        first.fill(words, 42, 64, signals=(filled, 1))
        copied.wait()
        print(f"semaphore: {filled.value}, words {set(host.view(np.uint32).tolist())}")

        # The same two commands recorded once, and replayed with one call each time.
        batch = weft.Batch()
        batch.fill(words, 0, 64)
        batch.copy(host, words, 64)
        recorded = chip.record(batch)
        for value in (1, 2, 3):
            recorded.patch(0).fill(words, value, 64)
            first.replay(recorded).wait()
            print(f"replay: words {set(host.view(np.uint32).tolist())}")

        async def all_chips() -> list[weft.Event]:
            return await asyncio.gather(*(wait_for(device.queue().timestamp()) for device in chips.devices))

        async def wait_for(event: weft.Event) -> weft.Event:
            return await event

        print(f"coroutines: {[event.status.name for event in asyncio.run(all_chips())]}")

        # Each chip has an array; each gets the sum of all, in the same bits and cycles every time.
        arrays = [np.arange(1024, dtype=np.float32) + 1000 * number for number in range(info.chips)]
        collective = chips.collective(weft.CollectiveKind.ALL_REDUCE, weft.ArgumentDtype.F32, arrays[0].nbytes)
        sums, cycles = collective.run(arrays)
        differing = sum(int((found != np.sum(arrays, axis=0)).sum()) for found in sums)
        link = chips.link(0, "+x")
        print(f"all-reduce: {cycles} cycles, {differing} of {1024 * info.chips} elements differ from NumPy's; chip 0 sent {link.payload_bytes} bytes by +x")
    return differing


if __name__ == "__main__":
    sys.exit(main())
