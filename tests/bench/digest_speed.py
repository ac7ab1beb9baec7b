"""How long a digest of 4,096 messages takes when every sentence is full of cue words: ``python tests/bench/digest_speed.py``.

The worst case, for nothing can be passed over. Processor time, the best of several runs; never part of the test suite.
"""

from __future__ import annotations

import random
import time
from typing import Final

from compactor import AssistantMessage, SummaryRequest, UserMessage
from compactor.messages import Message
from compactor.summarizers import DigestSummarizer
from compactor.transcript import transcript_of

SIZE: Final = 4_096
RUNS: Final = 15
SENTENCES: Final = {
    "zh": (
        "请不要修改数据库端口{n}，必须先测试。",
        "端口改为{n}，不再用{m}。",
        "还需要更新证书{n}，待办清理备份。",
        "我们决定采用方案{n}，因为{m}太慢。",
        "现在版本是v{n}.{m}，更正：超时为{n}秒。",
        "已完成迁移{n}，下一步检查目录/data/{m}。",
        "以后都用繁体字回答，优先{n}。",
        "酒店预算是{n}元，改成{m}元。",
    ),
    "en": (
        "Never push port {n} to main, always test. ",
        "The port has changed to {n}, no longer {m}. ",
        "We still need to rotate key {n}. ",
        "We decided to use plan {n} because {m} is slow. ",
        "The version is now v{n}.{m}, correction: timeout is {n} s. ",
        "Next I will check /data/{m}. ",
        "The hotel budget is {n} EUR instead of {m} EUR. ",
    ),
}


def conversation(language: str) -> list[Message]:
    """User and assistant in turn, three sentences each."""
    dice = random.Random(1)
    made: list[Message] = []
    for number in range(SIZE):
        picked = [dice.choice(SENTENCES[language]) for _ in range(3)]
        text = "".join([one.format(n=dice.randint(1, 9_999), m=dice.randint(1, 9_999)) for one in picked])
        made.append(UserMessage(text, id=f"m{number}") if number % 2 == 0 else AssistantMessage(text, id=f"m{number}"))
    return made


def seconds(language: str, room: int) -> float:
    """The best of the runs."""
    request = SummaryRequest((), None, transcript_of(conversation(language)), SIZE, room, "s1")
    best = float("inf")
    for _ in range(RUNS):
        began = time.process_time()
        DigestSummarizer()(request)
        best = min(best, time.process_time() - began)
    return best


if __name__ == "__main__":
    for language in SENTENCES:
        for room in (1_500, 20_000):
            print(f"{language}, {room:>6} code points of summary: {1_000 * seconds(language, room):6.0f} ms")
