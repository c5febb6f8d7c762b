"""Train and prompt a Llama of a billion parameters dry: `python -m tests.benchmarks.dry_llama [--layers 4|16]`.

Needs transformers. The layers are patched with Liger's kernels. Six steps of training, each with a batch and a length
of its own, then `generate`. Limits: 10 s of CPU after the imports, a peak of 2 GB, and rope's `bs` among what varied.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import defaultdict

import triton_doctor

SHAPES = ((1, 128), (2, 300), (3, 512), (4, 777), (5, 1000), (6, 2048))
NEW_TOKENS, PROMPT = 16, 50
# By their layers: 16 is Llama 3.2 1B, 4 are the layers of a model of 8 billion.
MODELS = {
    16: {"hidden_size": 2048, "intermediate_size": 8192, "vocab_size": 128_256},
    4: {"hidden_size": 4096, "intermediate_size": 14_336, "vocab_size": 32_000},
}
MOST_S, MOST_BYTES = 10, 2 << 30


def main() -> None:
    """Print what was seen and what it took; exit with 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, choices=MODELS, default=4)
    layers: int = parser.parse_args().layers
    with triton_doctor.dry_run() as recording:
        import torch
        from liger_kernel.transformers import apply_liger_kernel_to_llama
        from transformers import LlamaConfig, LlamaForCausalLM

        apply_liger_kernel_to_llama()
        began = time.process_time()
        heads = {"num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": layers}
        config = LlamaConfig(**MODELS[layers], **heads, tie_word_embeddings=True)
        model = LlamaForCausalLM(config).cuda().bfloat16()
        parameters = sum(parameter.numel() for parameter in model.parameters())
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        for batch, length in SHAPES:
            tokens = torch.randint(0, config.vocab_size, (batch, length), device="cuda")
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(input_ids=tokens, labels=tokens).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        prompt = torch.randint(0, config.vocab_size, (7, PROMPT), device="cuda")
        # With an end of its own, that it came would be a guess, and the first token the last.
        model.generation_config.eos_token_id = None
        written = model.generate(prompt, max_new_tokens=NEW_TOKENS, do_sample=False)
        took_s = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    batches = rope_batches(recording)
    print(f"{parameters / 1e9:.2f} billion parameters, {len(SHAPES)} steps, {tuple(written.shape)} tokens written")
    print(f"{took_s:.1f} s of CPU after the imports, {peak / 2**30:.2f} GB at the peak")
    print(f"rope's bs: {', '.join(batches)}")
    print(recording)
    if took_s > MOST_S or peak > MOST_BYTES or len(batches) < len(SHAPES):
        raise SystemExit("a limit is passed")


def rope_batches(recording: triton_doctor.Recording) -> list[str]:
    """The values that `bs` of Liger's rope took."""
    values = defaultdict(set)
    for event in recording.compiles:
        values[event.kernel.name] |= {str(value) for name, value in event.key.constants if name == "bs"}
    return sorted(values["_triton_rope"])


if __name__ == "__main__":
    main()
