"""Conversations as transformers' apply_chat_template renders them.

    chats.py TEMPLATE ...

Writes, for each template file and each conversation, a line of JSON with what the
text is made of and the text; or the error where the template refuses.
"""

import datetime
import json
import sys

from transformers.utils import chat_template_utils

TOKENS = {"bos_token": "<|begin_of_text|>", "eos_token": "<|im_end|>"}
SEARCH = {
    "type": "object",
    "properties": {
        "keywords": {"type": "array", "items": {"type": "string"}, "description": "words & <phrases>, e.g. \"q1\" or 'naïve 日本 😀'"},
        "max_results": {"type": "integer", "maximum": 10, "default": 5},
        "share": {"type": "number", "minimum": 0.5, "maximum": 1.0, "multipleOf": 1e-05},
        "after": {"type": ["string", "null"], "default": None, "enum": []},
        "deep": {"type": "object", "properties": {}, "additionalProperties": False},
    },
    "required": ["keywords"],
}
TOOLS = [
    {"name": "search_emails", "description": "search the mailbox\nby words", "parameters": SEARCH},
    {"name": "read_email", "description": "read one mail", "parameters": {"type": "object", "properties": {"message_id": {"type": "string"}}, "required": ["message_id"]}},
]


def system(text="You answer questions about a mailbox. "):
    return {"role": "system", "content": text}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, *calls):
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [{"type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]
    return message


def tool(text):
    return {"role": "tool", "content": text}


SEARCHED = ("search_emails", {"keywords": ["harbor", "31 <May> & \"x\""], "max_results": 5, "share": 0.75, "after": None})
CONVERSATIONS = {
    "one turn": [system(), user("When does it end?")],
    "no system message": [user("  When does it end?\n")],
    "several turns": [system(" padded \n"), user("a"), assistant("b  "), user("\tc"), assistant("d\n\ne"), user("日本 😀 <b>&amp;</b>")],
    "a later system message": [system(), user("a"), system("b"), user("c")],
    "a call": [system(), user("When?"), assistant("", SEARCHED), tool("12 harbor\n34 \"quoted\" <tag>\t\\")],
    "a call after words": [system(), user("When?"), assistant("Let me look.", SEARCHED), tool("nothing")],
    "two calls": [system(), user("When?"), assistant("", SEARCHED, ("read_email", {"message_id": "12"})), tool("a"), tool("b")],
    "calls, then an answer": [system(), user("When?"), assistant("", SEARCHED), tool("12"), assistant("", ("read_email", {"message_id": "12"})), tool("on 31 May"), assistant("31 May"), user("sure?")],
    "thoughts in a tool loop": [system(), user("When?"), assistant("<think>\nhm, harbor\n</think>\n\nlooking", SEARCHED), tool("12"), assistant("<think>\n\n</think>\n\n", ("read_email", {"message_id": "12"})), tool("x")],
    "thoughts before a question": [system(), user("a"), assistant("<think>\none\ntwo\n</think>\n\nb"), user("c"), assistant("<think>three</think>d"), user("e")],
    "a thought and a user's results": [user("a"), assistant("<think>\none\n</think>\n\nsearch b"), user("<tool_response>\nx\n</tool_response>")],
    "ends with an answer": [system(), user("a"), assistant("<think>\none\n</think>\n\nb")],
    "ends with words": [user("a"), assistant("b")],
}
OPTIONS = [{}, {"enable_thinking": False, "date_string": "01 Jan 2001"}]


class Day(datetime.datetime):
    """The clock that templates see: it stands still on the day that ours tells."""

    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26)


chat_template_utils.datetime = Day


def cases():
    for name, messages in CONVERSATIONS.items():
        for options in OPTIONS:
            for tools in ([], TOOLS):
                yield {"name": name, "messages": messages, "tools": tools, "options": options, "generate": messages[-1]["role"] != "assistant"}


def render(template, case):
    tools = [{"type": "function", "function": t} for t in case["tools"]]
    variables = {**TOKENS, "date_string": "26 Jul 2024", **case["options"]}
    rendered, _ = chat_template_utils.render_jinja_template([case["messages"]], tools=tools or None, chat_template=template, add_generation_prompt=case["generate"], **variables)
    return rendered[0]


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            template = f.read()
        for case in cases():
            row = {"template": path, **case}
            try:
                row["text"] = render(template, case)
            except Exception as e:  # noqa: BLE001  what the template refuses
                row["error"] = str(e)
            print(json.dumps(row))


if __name__ == "__main__":
    main()
