"""Mixed text, made from a seed: what a tokenizer meets, and what it must survive.

One text in turn of each kind: mail, code, East Asian scripts, other scripts,
emoji, runs of blanks, damaged UTF-8 (as decoders leave it: with U+FFFD), control
tokens and what nearly is one, any characters at all.
"""

import random
import unicodedata

WORDS = (
    "the of to and a in is for on that with be by as it at from this we are will have you not or an if can our your has was "
    "please meeting contract budget pipeline schedule report agreement attached forward deal price energy market power gas "
    "storage capacity invoice payment quarter review draft comments changes counsel signature deadline Monday Tuesday Friday "
    "January March October morning afternoon office conference call team project manager department customer supplier harbor "
    "northern western regional settlement transmission counterparty confirmation reconcile quantities nomination curtailment "
    "don't I'm we'll they've he'd she's you're it's can't WE'LL IT'S naïve café résumé Zürich coöperate Ångström"
).split()
NAMES = "Ada Ben Cleo Dov Eve Finn Gita Hal Ines Jo Quill Marsh Okafor Lindqvist Brandão Nguyễn Müller O'Brien McKay".split()
CODE = [
    "def {0}(x, *args):\n    return x**{1} + {1}.{1}  # {0}\n",
    "\tif err := {0}({1}); err != nil {{\n\t\treturn fmt.Errorf(\"{0}: %w\", err)\n\t}}\n",
    "for (int i = 0; i < {1}; ++i) {{ {0}[i] += *p++ & 0x{1}fUL; }}\n",
    '{{"{0}": [{1}, {1}e-7, null, true], "id": "{1}-{0}"}}\n',
    "SELECT {0}, COUNT(*) FROM t{1} WHERE {0} <> '{1}' GROUP BY 1;\n",
    "<a href=\"https://example.com/{0}?q={1}&x=%20\">{0}</a><br/>\n",
    "{0}_{1} = [i for i in range({1}) if i%2==0]\r\n",
    "$ ls -la ~/{0}/{1}.tar.gz | grep -E '^d[rwx-]+' >> /dev/null 2>&1\n",
    "#define {0}_MAX ({1}u<<3)  /* ===== */\n",
    "let {0}: Vec<&'static str> = vec![\"{1}\"; {1}];\n",
]
RANGES = {
    "asian": [(0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x3001, 0x3003), (0xFF01, 0xFF5E), (0x20000, 0x2A6D0)],
    "scripts": [(0x391, 0x3C9), (0x410, 0x44F), (0x5D0, 0x5EA), (0x621, 0x64A), (0x660, 0x669), (0x904, 0x939), (0xE01, 0xE3A), (0x1EA0, 0x1EF9), (0x10D0, 0x10FA), (0x1200, 0x1248)],
    "emoji": [(0x1F300, 0x1F64F), (0x1F680, 0x1F6FC), (0x2600, 0x27BF), (0x1F1E6, 0x1F1FF), (0x1F3FB, 0x1F3FF), (0x1F900, 0x1F9FF)],
}
MARKS = [0x301, 0x300, 0x308, 0x303, 0x327, 0x323, 0x342, 0x3099, 0x309A, 0x5B0, 0x64E, 0x93C, 0xE48, 0x20DD, 0x20D0]
BLANKS = " " * 12 + "\n\n\n\t\t\r\r\n\u00a0\u3000\u2003\u2009\u2028\u2029\u0085\x0b\x0c\u200b\u1680\u202f\ufeff\x1c"
CONTROLS = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|begin_of_text|>", "<|start_header_id|>", "<think>", "</think>", "<tool_call>",
    "</tool_call>", "<tool_response>", "<|im_end", "|im_end|>", "<|", "|>", "< |im_end|>", "<|IM_END|>", "<think", "</tool_call", "<<|im_end|>>",
]


class Mixed:
    """An endless source of texts."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.kinds = [self.mail, self.header, self.code, self.asian, self.scripts, self.emoji, self.blanks, self.broken, self.controls, self.anything]

    def texts(self, count):
        return [self.kinds[i % len(self.kinds)]() for i in range(count)]

    def word(self):
        r = self.rng
        w = r.choice(WORDS[: 30 if r.random() < 0.5 else None])
        return w.capitalize() if r.random() < 0.1 else w.upper() if r.random() < 0.02 else w

    def number(self):
        r = self.rng
        return r.choice(["%d" % r.randrange(10 ** r.randrange(1, 9)), "%.2f" % (r.random() * 1e4), "%d,%03d" % (r.randrange(99), r.randrange(999)), "%d/%d/%02d" % (r.randrange(1, 13), r.randrange(1, 29), r.randrange(99)), "10:%02d" % r.randrange(60), "$%d" % r.randrange(500), "²", "Ⅷ", "½"][: 9 if r.random() < 0.1 else 6])

    def mail(self):
        r = self.rng
        parts = []
        for _ in range(r.randrange(3, 22)):
            parts.append(self.number() if r.random() < 0.08 else self.word())
            if r.random() < 0.12:
                parts[-1] += r.choice([",", ".", ";", ":", "?", "!", "...", " -", ")", "\""])
        text = ("  " if r.random() < 0.05 else " ").join(parts)
        return r.choice(["", "", "> ", "\t", "  - "]) + text + r.choice(["", "", "\n", "\n\n", "\r\n", "  ", " \n"])

    def header(self):
        r = self.rng
        a, b = r.choice(NAMES), r.choice(NAMES)
        return r.choice(
            [
                f"From: {a} {b} <{a.lower()}.{b.lower()}@example.com>\n", f"Subject: Re: FW: {self.word()} {self.number()}\n", f"Message-ID: <{r.randrange(10**9)}.{r.randrange(10**12)}.JavaMail.{a.lower()}@mail{r.randrange(9)}>\n",
                f"Date: Mon, {r.randrange(1, 31)} May 2001 10:{r.randrange(60):02d}:00 -0700 (PDT)\n", f"search {self.word()} {self.word()} from:{a.lower()} after:2001-05-01", f"-----Original Message-----\n\n{a},\n\n{self.word()}'s {self.word()}\n\nThanks,\n{b}\n",
            ]
        )

    def code(self):
        return "".join(self.rng.choice(CODE).format(self.rng.choice(WORDS).strip("'").replace("'", ""), self.rng.randrange(1000)) for _ in range(self.rng.randrange(1, 3)))

    def of(self, ranges, low, high):
        r = self.rng
        chars = []
        for _ in range(r.randrange(low, high)):
            first, last = r.choice(ranges)
            chars.append(chr(r.randrange(first, last + 1)))
            if r.random() < 0.1:
                chars.append(r.choice([" ", " ", chr(r.choice(MARKS)), "1", "a", "。", "\u200d", "\ufe0f", "'s", "\n"]))
        return "".join(chars)

    def asian(self):
        ranges = RANGES["asian"]
        return self.of([self.rng.choice(ranges[:4])] * 3 + [self.rng.choice(ranges)], 2, 30)

    def scripts(self):
        text = self.of([self.rng.choice(RANGES["scripts"])], 2, 30)
        return unicodedata.normalize("NFD", text) if self.rng.random() < 0.3 else text

    def emoji(self):
        return " ".join(self.of(RANGES["emoji"], 1, 5) if self.rng.random() < 0.5 else self.word() for _ in range(self.rng.randrange(2, 9)))

    def blanks(self):
        r = self.rng
        return "".join(r.choice(BLANKS) * r.choice([1, 1, 1, 2, 3, 9, 40]) if r.random() < 0.6 else r.choice(["x", "ab", "7", "12", "é", "日", "!", "--", "'s"]) for _ in range(r.randrange(2, 14)))

    def broken(self):
        r = self.rng
        raw = bytearray((self.mail() + self.asian() + self.scripts()).encode())
        for _ in range(r.randrange(1, 6)):
            at = r.randrange(len(raw))
            if r.random() < 0.5:
                raw[at] = r.randrange(256)
            else:
                del raw[at]
        return bytes(raw).decode("utf-8", "replace")

    def controls(self):
        r = self.rng
        return "".join(r.choice(CONTROLS) if r.random() < 0.4 else r.choice([self.word(), " ", "\n", "assistant\n", self.number()]) for _ in range(r.randrange(1, 10)))

    def anything(self):
        r = self.rng
        chars = []
        while len(chars) < r.randrange(1, 16):
            c = chr(r.randrange(0x20, r.choice([0x80, 0x250, 0x3000, 0xFFFF, 0x1FFFF])))
            if not 0xD800 <= ord(c) <= 0xDFFF:
                chars.append(c)
        return "".join(chars)
