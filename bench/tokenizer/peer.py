"""The peer of bench/tokenizer: Hugging Face's tokenizers, one thread.

    peer.py TOKENIZER COUNT SEED TEXTS

Writes COUNT mixed texts to the file TEXTS (a JSON list). Then, for each line of
standard input, encodes all of them once and answers with the seconds of CPU
time: of encode_batch_fast, which keeps no offsets, and of encode_batch.
"""

import json
import os
import pathlib
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/interop"))

from tokenizers import Tokenizer  # noqa: E402

from mixedtext import Mixed  # noqa: E402


def seconds(encode, texts):
    start = time.process_time()
    encode(texts, add_special_tokens=False)
    return time.process_time() - start


def main():
    tok = Tokenizer.from_file(sys.argv[1])
    texts = Mixed(int(sys.argv[3])).texts(int(sys.argv[2]))
    with open(sys.argv[4], "w", encoding="utf-8") as f:
        json.dump(texts, f)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(seconds(tok.encode_batch_fast, texts), seconds(tok.encode_batch, texts), flush=True)


if __name__ == "__main__":
    main()
