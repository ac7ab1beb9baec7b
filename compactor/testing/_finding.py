"""What a store must find: hidden messages, by any part of a word, in any script; with and without an index."""

from __future__ import annotations

from ..events import Draft, EventType, canonical
from ..ledger import Ledger
from ..searching import read_query
from ._drafts import answering, asking, ended, placed, rewound, seqs_of, started, undone, user

TEXTS = {
    "path": "the file src/app/models.py has parse_config_file() in it",
    "cjk": "\u8a2d\u5b9a\u30d5\u30a1\u30a4\u30eb\u3092\u8aad\u3080",
    "chinese": "\u6211\u4eec\u5df2\u7ecf\u4fee\u590d\u4e86\u6570\u636e\u5e93\u8fde\u63a5",
    "thai": "\u0e09\u0e31\u0e19\u0e01\u0e33\u0e25\u0e31\u0e07\u0e41\u0e01\u0e49\u0e44\u0e02\u0e44\u0e1f\u0e25\u0e4c\u0e19\u0e35\u0e49\u0e2d\u0e22\u0e39\u0e48",
    "accents": "the R\u00e9sum\u00e9 of \u00c5ngstr\u00f6m, STRASSE",
    "wide": "\uff21\uff22\uff23\uff11\uff12\uff13",
    "signs": "100% of it: a_b AND NOT NEAR(x) 'quoted' 10.0.0.1:8080 C++",
    "phrase": "the connection was refused; refused connection twice",
    "words": "was the connection to be made, or refused?",
}
FINDS = {
    "models.py": ["path"],
    "src/app": ["path"],
    "onfig_fi": ["path"],
    "PARSE_CONFIG": ["path"],
    "parse_config_file()": ["path"],
    "\u8a2d\u5b9a": ["cjk"],
    "\u30d5\u30a1\u30a4\u30eb": ["cjk"],
    "\u8aad": ["cjk"],
    "\u6570\u636e": ["chinese"],
    "\u5df2\u7ecf\u4fee\u590d": ["chinese"],
    "\u0e41\u0e01\u0e49\u0e44\u0e02": ["thai"],
    "\u0e44\u0e1f\u0e25\u0e4c": ["thai"],
    "resume": ["accents"],
    "R\u00c9SUM\u00c9": ["accents"],
    "angstrom": ["accents"],
    "stra\u00dfe": ["accents"],
    "abc123": ["wide"],
    "100%": ["signs"],
    "a_b": ["signs"],
    "%": ["signs"],
    "NEAR(x)": ["signs"],
    "'quoted'": ["signs"],
    "10.0.0.1:8080": ["signs"],
    "c++": ["signs"],
    '"connection was refused"': ["phrase"],
    '"was the"': ["words"],
    "arg-value": ["call"],
    "arg_key": ["call"],
    "the-answer": ["result"],
    "aXb": [],
    "nowhere": [],
    "still-shown": [],
    "rewound-away": [],
    "*": [],
    '""': [],
}
"""Query → the hidden messages that it finds, by name."""


async def check_searching(ours: Ledger, theirs: Ledger) -> None:
    """Hidden messages only, best first; after ``index`` the same answers; and what is redacted is found no more."""
    name = "search"
    lease = await ours.acquire(name, owner="us")
    await ours.append(lease, [user("gone", "rewound-away")])
    await ours.append(lease, [rewound(0)])
    drafts = [user(key, text) for key, text in TEXTS.items()]
    call = asking("call", "c", arg_key="arg-value")
    hidden = seqs_of(await ours.append(lease, [*drafts, call, answering("result", "c", "the-answer")]))
    places = dict(zip([*TEXTS, "call", "result"], hidden, strict=True))
    await ours.append(lease, [user("shown", "still-shown models.py")])

    async def found(query: str, limit: int = 50) -> list[int]:
        each = [seqs_of(await handle.search(name, read_query(query), limit)) for handle in (ours, theirs)]
        assert each[0] == each[1]
        return each[0]

    assert await found("models.py resume connection") == [], "nothing is hidden yet"
    await ours.append(lease, [started("c")])
    summary, _end = await ours.append(lease, [placed("c", hidden), ended("c")])

    async def looks() -> None:
        for query, names in FINDS.items():
            assert await found(query) == [places[key] for key in names], f"what {query!r} finds"
        best = [places[key] for key in ("phrase", "words")]
        assert await found("connection refused twice") == best, "most terms first"
        assert await found("connection refused") == best[::-1], "then the latest"
        assert await found("connection refused", 1) == best[1:], "no more than asked for"
        (event,) = await theirs.search(name, read_query("models.py"), 5)
        assert event == (await theirs.read(name, event.seq, event.seq + 1))[0]

    await looks()
    await theirs.index(name)
    await looks()
    await ours.index(name)
    await ours.index(name)
    await looks()
    await ours.append(lease, [undone(summary.seq)])
    assert await found("models.py resume connection") == [], "what is shown again is not searched"
    await ours.index(name)
    assert await found("models.py resume connection") == []
    await ours.append(lease, [rewound(summary.seq)])
    await looks()
    tomb = canonical({"id": "path", "role": "user", "content": "[redacted]"})
    await ours.redact(lease, places["path"], tomb, Draft(EventType.DATA_REDACTED, {"seq": places["path"]}))
    assert await found("models.py") == [], "what was redacted is found no more"
    assert await found("redacted") == [places["path"]]
    await ours.index(name)
    assert await found("models.py") == []
    assert await found("resume") == [places["accents"]]
    await ours.append(lease, [rewound(0)])
    assert await found("resume") == [], "what was rewound away is not searched"
    await ours.release(lease)
    await theirs.release(await theirs.acquire("empty", owner="them"))
    assert await theirs.search("empty", read_query("x"), 5) == ()
