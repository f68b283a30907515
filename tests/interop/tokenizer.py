"""What Hugging Face's tokenizers make of mixed text.

    tokenizer.py ids TOKENIZER COUNT SEED OUT   encode texts of mixedtext.py
    tokenizer.py json GGUF OUT                  a GGUF file's vocabulary as tokenizer.json

OUT of ids holds, for each text: its length in bytes, the text, the number of
its ids, the ids, numbers as 32 bits, little-endian; then, in the same way, the
ids of rows of random ids and the text they decode to.
"""

import random
import struct
import sys

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from mixedtext import Mixed


def ids(path, count, seed, out):
    tok = Tokenizer.from_file(path)
    mixed, rng = Mixed(seed), random.Random(seed)
    with open(out, "wb") as f:
        for start in range(0, count, 20000):
            texts = mixed.texts(min(20000, count - start))
            for text, e in zip(texts, tok.encode_batch_fast(texts, add_special_tokens=False)):
                record(f, text, e.ids)
        f.write(struct.pack("<I", 0xFFFFFFFF))
        for _ in range(max(count // 20, 1)):
            row = [rng.randrange(tok.get_vocab_size()) for _ in range(rng.randrange(1, 8))]
            record(f, tok.decode(row, skip_special_tokens=False), row)


def record(f, text, ids):
    raw = text.encode()
    f.write(struct.pack("<I", len(raw)) + raw + struct.pack(f"<{1 + len(ids)}I", len(ids), *ids))


def from_gguf(path, out):
    import gguf

    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    tok = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    # As published for SmolLM2: each digit alone, then GPT-2's expression.
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, k in zip(tokens, kinds) if k == 3])
    tok.save(out, pretty=False)


if __name__ == "__main__":
    if sys.argv[1] == "ids":
        ids(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    else:
        from_gguf(sys.argv[2], sys.argv[3])
