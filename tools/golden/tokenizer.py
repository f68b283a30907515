#!/usr/bin/env python3
"""Test vectors for internal/tokenizer, made by Hugging Face's tokenizers.

    python3 tools/golden/tokenizer.py [--gguf models/smollm2/model.gguf]

Writes internal/tokenizer/testdata: for each way of splitting text a small
tokenizer trained on the sentences below, with the ids of many texts and the
texts of many ids; with --gguf also vectors for SmolLM2's own vocabulary
(needs the package gguf). Needs: pip install tokenizers==0.23.3 [gguf==0.19.0].
"""

import argparse
import json
import pathlib
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

OUT = pathlib.Path(__file__).resolve().parents[2] / "internal/tokenizer/testdata"
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

TRAINING = [
    "When does the contract with Blue Harbor end? It ends on 31 May 2001, they're sure.",
    "From: Ada Quill <ada.quill@example.com>\nTo: team@example.org\nSubject: Re: meeting at 10:30\n\n",
    "I don't know; we'll ask, he'd said. It's fine, I've seen it. You're right, I'm late.",
    "search contract harbor from:ada after:2001-05-01\nread 1234\nanswer 31 May | 1234\n",
    "   indented\n\n\nlines\t\twith tabs   and   runs of spaces    \r\n",
    "naïve café über straße Ελληνικά русский язык 日本語 中文 한국어 العربية עברית",
    "def f(x):\n    return x**2 + 3.14159  # comment\n\n    if x != 0:\n        pass\n",
]

TEXTS = TRAINING + [
    "", " ", "  ", "\n", "\n\n", "\t", "\r\n", " \n", "\n ", "  \n  ", "a", " a", "a ", "a  b", "a   b    c",
    "end  ", "end\n\n", "end \n \n", "  12", "a  12", "1 2  3   4", "12345", "1,234.56", "x1y22z333", "2001-05-31",
    "it's IT'S it'S we'll WE'LL they're I'd I'm I've don't 's's 'x '' ' s", "'ſ 'S 'LL 'lL", "!!!???...", "a!b?c", " !", "! ",
    "#$%^&*()_+-=[]{}|;:'\",./<>?`~\\", "e-mail: a.b+c@example.com; http://example.org/x?y=1&z=2",
    "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n", "<|im_end", "<|im_end|", "<<|im_end|>>", "a<|endoftext|>b<|im_end|>",
    "¼ ½ ² ³ ⅷ Ⅻ ① ٣ ४ 五 〇", "x² + y²", "naïve", "nai\u0308ve", "e\u0301", "\u0301", "a\u200db", "A\u030a", "ﬁ ﬂ", "İı",
    "😀", "👨‍👩‍👧‍👦", "🇪🇺🇯🇵", "👍🏽 ok", "a😀b", " 😀", "1️⃣", "𝒳𝓎 𝟘𝟙", "𠀀𠀁", "\U0001F9FF",
    "a\u00a0b", "\u00a0\u00a0a", "a\u3000b", "a\u2028b\u2029c", "a\u0085b", "a\u200bb", "a\u2003\u2003b", "\ufeffBOM", "a\u1680b",
    "tab\tstop\t\tend\t", "\x0b\x0c", "a\x0bb", "a\x1cb", "nul\x00byte", "\x7f\x80", "x" * 200, "=" * 80, "ab" * 150, "-" * 33 + ">",
    "word " * 50, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\n" * 20 + "x", " " * 70 + "x", "日本語のテキスト、句読点。", "한국어 텍스트",
    "русский текст, с пунктуацией!", "العربية ١٢٣ نص", "עִבְרִית", "ไทย ภาษา", "हिन्दी पाठ", "Việt Nam", "Zürich", "œuvre", "ǅ ǈ",
]

ALPHABETS = [
    " \n\t\r  ab'sdtmlrve1234.,!?-",
    " \n\u00a0\u3000\u2003\u2028\u0085\x0b\x0c\x1c\u200b\ufeffab1",
    "aZéßñçøåÆĳ ΩλяЖ ا ب ש あア漢字한글ก",
    "0123456789²¼Ⅷ٣४①〇 .x",
    "😀👍🏽👨‍👩‍👧🇪🇺❤️\u200d\u0301\u0308\u20e3 a1",
    "<|im_end|><|im_start|>endoftext \n",
    "'’ſSsTtRrEeVvMmLlDd \"",
]


def random_texts(count):
    rng = random.Random(20010531)
    texts = []
    for i in range(count):
        if i % 5 == 4:  # any assigned character below the surrogates, and some above
            chars = [chr(rng.randrange(1, 0xD7FF)) for _ in range(rng.randrange(1, 12))]
            chars = [c for c in chars if assigned(c)] + [chr(rng.randrange(0x1F300, 0x1F650))]
        else:
            alphabet = ALPHABETS[rng.randrange(len(ALPHABETS))]
            chars = [rng.choice(alphabet) for _ in range(rng.randrange(1, 40))]
        texts.append("".join(chars))
    return texts


def assigned(c):
    import unicodedata

    return unicodedata.category(c) != "Cn"


QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = QWEN2.replace(r"\p{N}|", r"\p{N}{1,3}|")


def byte_level(regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=regex)


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level(False)])


SPLITS = {
    "gpt2": lambda: byte_level(True),
    "smollm": lambda: pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level(True)]),
    "qwen2": lambda: split(QWEN2),
    "llama3": lambda: split(LLAMA3),
}


def train(kind):
    tok = Tokenizer(models.BPE(ignore_merges=kind == "llama3"))
    if kind == "qwen2":
        tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = SPLITS[kind]()
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420, show_progress=False, special_tokens=SPECIALS, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tok.train_from_iterator(TRAINING * 3, trainer)
    return tok


def smollm2(path):
    import gguf

    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    tok = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    tok.pre_tokenizer = SPLITS["smollm"]()
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, k in zip(tokens, kinds) if k == 3])
    return tok


def vectors(tok, texts):
    rng = random.Random(7)
    encoded = [{"text": t, "ids": tok.encode(t).ids} for t in texts]
    decoded = []
    for _ in range(60):
        ids = [rng.randrange(tok.get_vocab_size()) for _ in range(rng.randrange(1, 12))]
        decoded.append({"ids": ids, "text": tok.decode(ids, skip_special_tokens=False)})
    broken = [[tok.token_to_id(c) for c in token if tok.token_to_id(c) is not None] for token in ("ðŁĺ", "âĤ", "âĤâĤ", "ÃĤ¬", "ðŁ", "íłĢ")]
    decoded += [{"ids": ids, "text": tok.decode(ids, skip_special_tokens=False)} for ids in broken]
    return {"encode": encoded, "decode": decoded}


def write(name, data):
    with open(OUT / name, "w", encoding="utf-8") as f:
        json.dump(data, f, ensure_ascii=True, separators=(",", ":"))
        f.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", help="SmolLM2's file")
    args = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    texts = TEXTS + random_texts(150)
    for kind in SPLITS:
        tok = train(kind)
        tok.save(str(OUT / f"{kind}.tokenizer.json"), pretty=False)
        write(f"{kind}.vectors.json", vectors(tok, texts))
    if args.gguf:
        write("smollm2.vectors.json", vectors(smollm2(args.gguf), texts))


if __name__ == "__main__":
    main()
