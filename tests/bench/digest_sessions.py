"""Generated agent sessions with planted items, to measure what a summary keeps. Everything follows from a seed.

A session has three rounds of traffic: user, assistant and tool messages of one domain and one language, and between them
one item of each kind per round. Development seeds and held-back seeds draw from pools of phrases, nouns, names and
options that have nothing in common. ``tests/bench/digest.py`` compacts after each round and scores what is left.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any, Final

import attrs
from digest_heldback import HELD_BACK
from digest_heldback_b import HELD_BACK_B
from digest_phrases import DEVELOPMENT
from digest_phrases_more import MIXED, MORE, ODD

KINDS: Final = ("rule", "fact", "decision", "task", "preference", "update")
LANGUAGES: Final = tuple(DEVELOPMENT)
DEVELOPMENT_SEEDS: Final = tuple(range(24))
MORE_SEEDS: Final = tuple(range(1_000, 1_056))
MIXED_SEEDS: Final = tuple(range(2_000, 2_056))
ODD_SEEDS: Final = tuple(range(3_000, 3_056))
HELD_BACK_SEEDS: Final = tuple(range(9_000, 9_024))
HELD_BACK_B_SEEDS: Final = (*range(9_100, 9_121), 9_122, 9_123, 9_129)
"""Seed 9121 ends with a tool round that is larger than what may stay; 9129 takes its place, in the same language."""
ROUNDS: Final = 3
DENSE: Final = ("zh", "ja")


@attrs.frozen
class Item:
    """One planted item: what must be found afterwards, and for an update what must not be served as current."""

    kind: str
    keys: tuple[str, ...]
    text: str
    """What a caller would pin."""
    subject: str = ""
    stale: str = ""


@attrs.frozen
class Session:
    """Three rounds of plain messages; *pins* are what a caller pins, or pins anew under the same name, in each round."""

    seed: int
    language: str
    domain: str
    rounds: tuple[tuple[dict[str, Any], ...], ...]
    items: tuple[Item, ...]
    pins: tuple[dict[str, str], ...]


@attrs.frozen
class World:
    """The vocabulary of one split."""

    phrases: dict[str, str]
    options: tuple[str, ...]
    places: tuple[str, ...]
    people: tuple[str, ...]
    hosts: tuple[str, ...]
    folders: tuple[str, ...]
    errors: tuple[str, ...]
    verbs: tuple[str, ...]
    """Words of logs."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


DEV_WORLD: Final = World(
    DEVELOPMENT,
    _words("DuckDB Terraform gRPC Redis FastAPI Kafka Vite Grafana Ansible Polars Lisbon Helsinki Postgres Celery Nomad Caddy"),
    _words("billing orders ledger-eu atlas invoices warehouse crm-core telemetry loyalty parcels"),
    ("Mira Holm", "Jonas Petek", "Aiko Tran", "Ruth Bell", "Omar Haddad", "Lena Voss"),
    _words("db7.north.example cache2.fra.example pg-main.internal node14.lab.example edge3.example mq5.internal"),
    _words("/srv/exports/q3 /var/data/outgoing ~/work/drop reports/2024/final out/monthly /mnt/share/inbox data/clean"),
    (
        "KeyError: 'tenant_id'",
        "ECONNRESET while reading body",
        "assert total == 118",
        "TS2345: wrong argument",
        "ORA-01555 snapshot too old",
    ),
    _words("fetched parsed skipped cached queued rendered flushed compiled linked scanned merged retried"),
)
HELD_WORLD: Final = World(
    HELD_BACK,
    _words(
        "ClickHouse Pulumi GraphQL Valkey Litestar RabbitMQ Parcel Kibana Chef Dask Porto Tallinn MariaDB Dramatiq Mesos Traefik"
    ),
    _words("treasury shipments vault-us meridian receipts depot sales-hub sensors rewards freight"),
    ("Nadia Kern", "Piet Smolders", "Yuki Arai", "Grace Okoye", "Tomas Ruiz", "Ines Falk"),
    _words("sql3.south.example memcache9.ams.example maria-b.corp box21.test.example gw8.example bus1.corp"),
    _words("/opt/archive/h1 /home/ci/artifacts ~/stage/pack docs/old/signed dist/weekly /media/tape/box logs/raw"),
    (
        "IndexError: pop from empty list",
        "EPIPE on socket write",
        "expected 31 rows, got 29",
        "E0382 use of moved value",
        "SQLSTATE 40P01 deadlock",
    ),
    _words("loaded decoded ignored stored sent drawn written built bundled probed joined repeated"),
)
HELD_B_WORLD: Final = World(
    HELD_BACK_B,
    _words(
        "Snowflake Salt Thrift Memcached Starlette Pulsar Rollup Zabbix Puppet Spark Genoa Bergen CockroachDB Huey Swarm Envoy"
    ),
    _words("payroll dispatch archive-ca northstar vouchers silo desk-tool beacons coupons hangar"),
    ("Karin Lund", "Diego Prats", "Mei Sato", "Paul Adeyemi", "Vera Stein", "Hugo Blanc"),
    _words("ora4.west.example kv2.par.example cr-7.intern box3.dev.example lb5.example queue9.intern"),
    _words("/data/vault/z9 /home/ops/parcels ~/tmp/stack docs/2023/draft build/nightly /mnt/cold/shelf raw/feeds"),
    (
        "ZeroDivisionError: division by zero",
        "ETIMEDOUT during handshake",
        "expected status 204, got 502",
        "CS0103 name does not exist",
        "SQLSTATE 23505 duplicate key",
    ),
    _words("pulled unpacked dropped parked pushed painted emptied packed bound walked folded redone"),
)
MORE_WORLD: Final = attrs.evolve(DEV_WORLD, phrases=MORE)
MIXED_WORLD: Final = attrs.evolve(DEV_WORLD, phrases=MIXED)
ODD_WORLD: Final = attrs.evolve(DEV_WORLD, phrases=ODD)

DOMAINS: Final = {
    "coding": (("read_file", "path"), ("edit_file", "path"), ("bash", "command"), ("grep", "pattern")),
    "ops": (("bash", "command"), ("kubectl", "args"), ("read_file", "path"), ("metrics", "query")),
    "data": (("sql", "query"), ("python", "code"), ("read_file", "path"), ("plot", "spec")),
    "support": (("crm_lookup", "customer"), ("search_kb", "query"), ("send_reply", "draft")),
    "research": (("web_search", "query"), ("open_page", "url"), ("notes", "text")),
}


class _Maker:
    """Makes one session; everything random comes from *dice*."""

    def __init__(self, seed: int, language: str, world: World) -> None:
        self.dice = random.Random(seed)
        self.language = language
        self.world = world
        self.seed = seed
        self.domain = self.dice.choice(sorted(DOMAINS))
        self.pool: dict[str, list[str]] = {}
        for line in world.phrases[language].strip().split("\n"):
            kind, _, text = line.partition(": ")
            self.pool.setdefault(kind, []).append(text.replace("\\n", "\n"))
        self.used: set[str] = set()
        self.nouns = self.shuffled(self.pool["noun"])
        self.options = self.shuffled(world.options)
        self.places = self.shuffled(world.places)
        self.drawn = {kind: self.shuffled(self.pool[kind]) for kind in ("rule", "task", "preference", "decision")}
        self.number = 0
        self.long_ids = self.dice.random() < 0.25
        self.items: list[Item] = []

    def shuffled(self, values: Sequence[str]) -> list[str]:
        return self.dice.sample(list(values), len(values))

    # ---------------------------------------------------------------------------------------------------- items

    def value(self, kind: str) -> str:
        """A value of this type that this session has not seen."""
        dice, world = self.dice, self.world
        while True:
            match kind:
                case "port":
                    made = str(dice.randint(3_001, 9_899))
                case "number":
                    made = str(dice.randint(11, 97) * 7)
                case "path":
                    made = f"{dice.choice(world.folders)}{dice.randint(2, 99)}"
                case "version":
                    made = f"v{dice.randint(1, 9)}.{dice.randint(10, 40)}.{dice.randint(0, 9)}"
                case "ticket":
                    made = f"{dice.choice(('INC', 'OPS', 'CHG', 'SUP'))}-{dice.randint(1_000, 9_999)}"
                case "size":
                    made = f"{dice.randint(12, 480)} MB"
                case "host":
                    made = f"{dice.choice('abcdefgh')}{dice.randint(1, 9)}.{dice.choice(world.hosts)}"
                case "money":
                    made = f"{dice.randint(101, 989)} EUR"
                case "person":
                    made = dice.choice(world.people)
                case _:
                    made = dice.choice(world.errors)
            if made not in self.used:
                self.used.add(made)
                return made

    def marked(self, template: str) -> tuple[str, tuple[str, ...]]:
        """The text of a template and what of it has to survive."""
        text = template.replace("{p}", self.dice.choice(self.places))
        return text.replace("*", ""), tuple(re.findall(r"\*([^*]+)\*", text))

    def plain_item(self, kind: str) -> Item:
        """A rule, task or preference."""
        text, keys = self.marked(self.drawn[kind].pop())
        return Item(kind, keys, text)

    def fact(self) -> Item:
        noun, kind = self.nouns.pop().split("|")
        value = self.value(kind)
        text = _upper(self.dice.choice(self.pool["fact"]).replace("{n}", noun).replace("{v}", value))
        return Item("fact", (value,), text, noun)

    def decision(self) -> Item:
        chosen, other = self.options.pop(), self.options.pop()
        return Item("decision", (chosen,), self.drawn["decision"].pop().replace("{a}", chosen).replace("{b}", other))

    def update(self) -> tuple[Item, Item]:
        """A value and, for later, the one that supersedes it."""
        noun, kind = self.nouns.pop().split("|")
        old, new = self.value(kind), self.value(kind)
        first = self.dice.choice(self.pool["old"]).replace("{n}", noun).replace("{v}", old)
        second = self.dice.choice(self.pool["new"]).replace("{n}", noun).replace("{v}", new).replace("{o}", old)
        return Item("old", (old,), _upper(first), noun), Item("update", (new,), _upper(second), noun, old)

    # ------------------------------------------------------------------------------------------------- messages

    def message(self, role: str, content: Any, **more: Any) -> dict[str, Any]:
        self.number += 1
        id_ = f"msg_{self.dice.getrandbits(40):010x}" if self.long_ids else f"m{self.number}"
        return {"id": id_, "role": role, "content": content, **more}

    def noise(self, size: int) -> str:
        """Something a tool prints."""
        dice, world = self.dice, self.world
        lines: list[str] = []
        style = dice.choice(("log", "code", "table", "json", "prose"))
        while sum(map(len, lines)) < size:
            place, verb, n = dice.choice(world.places), dice.choice(world.verbs), dice.randint(1, 9_999)
            match style:
                case "log":
                    lines.append(
                        f"2024-0{dice.randint(1, 9)}-1{dice.randint(0, 9)} 12:{dice.randint(10, 59)} INFO {place} {verb} {n} items"
                    )
                case "code":
                    lines.append(f"    {verb}_{place.replace('-', '_')} = {verb}({n}, limit={dice.randint(1, 50)})")
                case "table":
                    lines.append(f"{place:<12} | {n:>6} | {verb}")
                case "json":
                    lines.append(f'{{"name": "{place}", "state": "{verb}", "count": {n}}},')
                case _:
                    lines.append(f"The {place} page says that {n} entries were {verb} and lists them by date.")
        return "\n".join(lines)

    def arguments(self, key: str) -> dict[str, str]:
        dice, world = self.dice, self.world
        place = dice.choice(world.places)
        match key:
            case "path":
                return {"path": f"src/{place}/{dice.choice(world.verbs)}{dice.randint(1, 60)}.py"}
            case "command":
                return {"command": f"make {place}-{dice.choice(world.verbs)} N={dice.randint(1, 99)}"}
            case _:
                return {key: f"{place} {dice.choice(world.verbs)} {dice.randint(1, 999)}"}

    def tool_round(self, result: str | None = None, mention: str = "") -> list[dict[str, Any]]:
        """A call and its result."""
        name, key = self.dice.choice(DOMAINS[self.domain])
        call = {"type": "toolCall", "id": f"call_{self.seed}_{self.number}", "name": name, "arguments": self.arguments(key)}
        if mention:
            call = {**call, "name": "bash", "arguments": {"command": f"./check --with {mention}"}}
        blocks: list[dict[str, Any]] = [call]
        if self.dice.random() < 0.4:
            blocks.insert(0, {"type": "text", "text": self.small_talk("say")})
        text = result or self.noise(self.dice.choice((80, 200, 400, 700)))
        return [
            self.message("assistant", blocks),
            self.message("toolResult", text, toolCallId=call["id"], toolName=call["name"], isError=False),
        ]

    def small_talk(self, kind: str) -> str:
        """Something that a user or the assistant says and that nobody has to remember."""
        dice, world = self.dice, self.world
        text = (
            dice.choice(self.pool[kind]).replace("{q}", dice.choice(world.places)).replace("{d}", str(dice.randint(100, 2_900)))
        )
        return text.replace("{f}", self.arguments("path")["path"])

    def filler(self) -> list[dict[str, Any]]:
        """Traffic that nobody has to remember."""
        roll = self.dice.random()
        if roll < 0.22:
            return [self.message("user", self.small_talk("user"))]
        if roll < 0.45:
            text = " ".join([self.small_talk("say"), self.small_talk("say")])
            return [self.message("assistant", [{"type": "text", "text": text}])]
        return self.tool_round()

    def carried(self, item: Item) -> list[dict[str, Any]]:
        """The messages that bring an item: bare, within small talk, by the assistant, or as the outcome of a tool."""
        dice = self.dice
        roll = dice.random()
        said = {"decision": 0.45, "task": 0.35, "fact": 0.2, "update": 0.15}.get(item.kind, 0.0)
        told = {"fact": 0.15, "update": 0.1}.get(item.kind, 0.0)
        if roll < said:
            text = item.text
            if dice.random() < 0.5:
                text = f"{self.small_talk('say')} {text}"
            return [self.message("assistant", [{"type": "text", "text": text}])]
        if roll < said + told:
            return self.tool_round(item.text if dice.random() < 0.5 else f"{self.noise(60)}\n{item.text}")
        text = item.text
        if dice.random() < 0.6:
            text = dice.choice(self.pool["wrap"]).replace("{x}", text)
        made = [self.message("user", text)]
        if item.kind == "old" and dice.random() < 0.4:
            # The old value echoes: in the reply, and in a command.
            glue = "" if self.language in DENSE else " "
            echo = f"{self.small_talk('say')}{glue}{item.subject}: {item.keys[0]}."
            made.append(self.message("assistant", [{"type": "text", "text": echo}]))
            made += self.tool_round("checked, 3 entries", item.keys[0])
        return made

    def session(self) -> Session:
        """All rounds."""
        dice = self.dice
        pairs = [self.update() for _ in range(ROUNDS)]
        later: dict[int, list[tuple[Item, ...]]] = {number: [] for number in range(ROUNDS)}
        for index, (old, new) in enumerate(pairs):
            said = dice.randint(0, 1) if index else 0
            changed = dice.randint(said, ROUNDS - 1)
            if changed == said:
                later[said].append((old, new))
            else:
                later[said].append((old,))
                later[changed].append((new,))
        rounds, pins = [], []
        # How much traffic stands around an item differs between sessions.
        length = dice.choice((36, 48, 60))
        for number in range(ROUNDS):
            chains: list[tuple[Item, ...]] = [(self.plain_item(kind),) for kind in ("rule", "task", "preference")]
            chains += [(self.fact(),), (self.decision(),), *later[number]]
            dice.shuffle(chains)
            made, said_now = self.round(chains, length)
            rounds.append(tuple(made))
            pins.append(
                {f"{item.kind}:{item.subject or item.text}"[:60].replace("old:", "update:"): item.text for item in said_now}
            )
            self.items += [item for item in said_now if item.kind != "old"]
        return Session(self.seed, self.language, self.domain, tuple(rounds), tuple(self.items), tuple(pins))

    def round(self, chains: list[tuple[Item, ...]], length: int) -> tuple[list[dict[str, Any]], list[Item]]:
        """The messages of one round, and its items in the order in which they were said."""
        spots = self.dice.sample(range(1, length), sum(map(len, chains)))
        if any(chain[0].kind == "old" for chain in chains):
            # A round opens with what is wanted, and the value in it may change.
            spots[0] = 0
        places = dict(zip(sorted(spots), _mixed(chains), strict=True))
        made: list[dict[str, Any]] = []
        for place in range(length):
            made += self.carried(places[place]) if place in places else self.filler()
        return made, [places[place] for place in sorted(places)]


def _mixed(chains: list[tuple[Item, ...]]) -> list[Item]:
    """One list of all items; within a chain the order stays."""
    firsts = sorted([chain[0] for chain in chains], key=lambda item: item.kind != "old")
    return firsts + [item for chain in chains for item in chain[1:]]


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:] if not text[:1].isdigit() and "/" not in text.split(" ", 1)[0] else text


def make_session(seed: int) -> Session:
    """The session of a seed; which split it belongs to follows from the seed."""
    world = next((world for seeds, world in _SPLITS if seed in seeds), DEV_WORLD)
    return _Maker(seed, LANGUAGES[seed % len(LANGUAGES)], world).session()


_SPLITS: Final = (
    (HELD_BACK_SEEDS, HELD_WORLD),
    (HELD_BACK_B_SEEDS, HELD_B_WORLD),
    (MORE_SEEDS, MORE_WORLD),
    (MIXED_SEEDS, MIXED_WORLD),
    (ODD_SEEDS, ODD_WORLD),
)
