import io
import time
import types
import zlib
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from draftfs.codec import to_plain
from draftfs.engine import yamlfile, yamltext, yamlwalk
from draftfs.errors import BadRequest, Damaged
from draftfs.records import (
    Attempts,
    Counters,
    Draft,
    DraftRef,
    EndedClaim,
    Event,
    InstallTarget,
    Job,
    Lease,
    PlaceDraft,
    Receipt,
    StoreInfo,
    Target,
)

NAME = "jobs/0007.yaml"
KINDS = (Counters, Draft, EndedClaim, Event, InstallTarget, Job, Lease, PlaceDraft, Receipt, StoreInfo, Target)
HAZARDS = [
    "no",
    "yes",
    "on",
    "off",
    "null",
    "true",
    "false",
    "~",
    "y",
    "n",
    "007",
    "7",
    "0o7",
    "1e5",
    "100000",
    "1_0",
    "10",
    "750",
    "2024-01-01",
    "12:30",
    ".inf",
    ".nan",
    "=",
    "<<",
    "!!!",
    "???",
    "08",
    "0x1F",
    "0b11",
    "+1",
    "-0",
    "#x",
    "*a",
    "&a",
    "!x",
    "@x",
    "`",
    "%x",
    "%41",
    "|",
    ">",
    "{",
    "[",
    "]",
    "}",
    "-",
    "?",
    ":",
    ",",
    "'",
    '"',
    "\\",
    "---",
    "...",
    "61e9540",
    "680841e1",
    "9509425349e4",
    "0e0",
    "1e400",
    "12.5e3",
    "1234567890123456789012345678901234567890",
    "format",
    "bytes",
]
HAZARDS += [
    "",
    "- x",
    "a: b",
    "x #y",
    " lead",
    "trail ",
    "a\nb",
    "a\r\nb",
    "\ttab",
    "💥",
    "👩‍👩‍👧",
    "日本語",
    "e\u0301",
]
HAZARDS += [
    "\x00",
    "\x1b[31m",
    "\x7f",
    "\x85",
    "\x9f",
    "\u2028",
    "\u2029",
    "\ufeffx\ufeff",
    "\u202ex",
    "\ufffe",
    "\U0010ffff",
]
HAZARDS += ["<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n", "bad\udcff.md", "\udcc3\udca9", "%\udcff%41"]

anything = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF, categories=["Cs"]),
    st.sampled_from('"\\%\n\r\t\0\x1b\x7f\x85\u2028\ufeff\u202e\ufffe💥'),
)
texts = st.text(anything, max_size=30) | st.sampled_from(HAZARDS)
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=10) | st.sampled_from(
    ["bytes", "%bytes", "%%bytes", "no", "null", "", "1", "a b", "k" * 1001, "\x85" * 500]
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)
mappings = st.dictionaries(keys, plain, max_size=4)


def values(kind: Any) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{each.name: values(hints[each.name]) for each in fields(kind)})
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of([st.none() if each is type(None) else values(each) for each in arguments])
    if origin is dict:
        return mappings
    return {str: texts, int: st.integers(), bool: st.booleans()}[kind]


def job(**changes: Any) -> Job:
    usual = {
        "id": 7,
        "title": "Fix the parser",
        "state": "open",
        "version": 3,
        "paths": ("docs/spec.md", "src"),
        "after": (1, 2),
        "attempts": Attempts(1, 3),
        "contest": (),
        "holder": "ann",
        "epoch": 17,
        "drafts": (DraftRef("docs/spec.md", 1),),
        "text": "one\ntwo 💥",
        "because": None,
        "added_by": "me",
        "added_at": "2026-05-01T12:00:00.000Z",
        "changed_at": "2026-05-01T12:00:00.000Z",
    }
    return Job(**(usual | changes))


def receipt(answer: dict[str, Any]) -> Receipt:
    return Receipt("61e9540", "0e0", "claim", "ann", 1, 2, 3, "2026-05-01T12:00:00.000Z", answer)


GOOD = yamlfile.encode(job())
HEAD = b"".join(GOOD.splitlines(keepends=True)[:2])
BODY = GOOD.removeprefix(HEAD)


def sealed(body: bytes) -> bytes:
    return b"format: 1\n# draftfs 0.1.0, %d bytes, crc32 %08x\n%b" % (len(body), zlib.crc32(body), body)


def line_of(data: bytes, start: bytes) -> int:
    return data[: data.index(start)].count(b"\n") + 1


def damage(data: bytes, kind: type = Job) -> Damaged:
    before = time.perf_counter()
    with pytest.raises(Damaged) as caught:
        yamlfile.decode(kind, data, NAME)
    assert time.perf_counter() - before < 20  # linear takes one or two, whatever machine this is
    assert caught.value.code == "damaged"
    assert caught.value.message.startswith(NAME)
    assert caught.value.details["file"] == NAME
    return caught.value


@pytest.fixture(params=["C", "Python"])
def parser(request, monkeypatch):
    if request.param == "Python":
        monkeypatch.setattr(yamlwalk, "_Loader", yaml.SafeLoader)


# ── what is written comes back ──


@pytest.mark.parametrize("kind", KINDS)
def test_every_record_comes_back_whatever_its_text(kind):
    @given(values(kind))
    def comes_back(record):
        data = yamlfile.encode(record)
        assert yamlfile.decode(kind, data, NAME) == record
        assert yamlfile.encode(yamlfile.decode(kind, data, NAME)) == data

    comes_back()


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("text", HAZARDS)
def test_text_that_yaml_reads_as_something_else_stays_text(text):
    record = job(title=text, holder=text, paths=(text, text), because=text)
    assert yamlfile.decode(Job, yamlfile.encode(record), NAME) == record


@given(mappings)
def test_free_mappings_come_back_with_their_order_and_types(answer):
    back = yamlfile.decode(Receipt, yamlfile.encode(receipt(answer)), NAME).answer
    assert repr(back) == repr(answer)


@pytest.mark.parametrize("key", ["bytes", "%bytes", "%%bytes"])
@pytest.mark.parametrize("value", ["bad%FF.md", "x", "bad\udcff", 5, None, {"bytes": "%41"}, ["%"]])
def test_a_genuine_mapping_named_like_our_escape_is_not_taken_for_it(key, value):
    record = receipt({"outer": {key: value}, "list": [{key: value}]})
    assert yamlfile.decode(Receipt, yamlfile.encode(record), NAME) == record


def other_readers(data: bytes) -> tuple[Any, ...]:
    yaml_1_2 = YAML(typ="safe", pure=True)
    return yaml.safe_load(data), yaml.load(data, Loader=yaml.CSafeLoader), yaml_1_2.load(io.StringIO(data.decode()))


@given(texts.filter(lambda text: text.isascii() or text.encode("utf-8", "ignore").decode() == text), mappings)
def test_yaml_1_1_and_1_2_readers_see_the_same_text(text, answer):
    record = job(title=text, paths=(text,), because=text)
    for read in other_readers(yamlfile.encode(record)):
        assert read == {"format": 1, **to_plain(record)}
    for read in other_readers(yamlfile.encode(receipt({"x": text, "y": [text, {"no": 1, text: 2}]}))):
        assert read["answer"] == {"x": text, "y": [text, {"no": 1, text: 2}]}
    first, *rest = (read["answer"] for read in other_readers(yamlfile.encode(receipt(answer))))
    assert all(repr(read) == repr(first) for read in rest)


def test_emoji_and_foreign_scripts_stay_readable_and_controls_do_not():
    text = yamlfile.encode(job(title="💥 日本語 ü \x1b \u202e \x85 \u2028 \ufeff \U0001ffff\n")).decode()
    assert r'title: "💥 日本語 ü \x1B \u202E \x85 \u2028 \uFEFF \U0001FFFF\n"' in text


def test_the_file_looks_as_documented():
    data = yamlfile.encode(Target("a.md", 2, (1, 2), None))
    body = b'path: "a.md"\nlast: 2\nundecided:\n  - 1\n  - 2\nchoice: null\nearlier: []\n'
    assert data == sealed(body)
    names = 'paths:\n  - {bytes: "a%FF%25"}\nafter: []\n'
    assert names in yamlfile.encode(job(paths=("a\udcff%",), after=())).decode()


@pytest.mark.parametrize(
    "key", ["y", "N", "no", "Yes", "on", "OFF", "null", "true", "~", "", "1", "a-b", "ä", "<<", "="]
)
def test_keys_that_could_be_read_as_something_else_are_quoted(key):
    assert f'\n  "{key}": 1\n' in yamlfile.encode(receipt({key: 1, "plain_1": 2})).decode()
    assert "\n  plain_1: 2\n" in yamlfile.encode(receipt({key: 1, "plain_1": 2})).decode()


# ── what no file can hold ──


@pytest.mark.parametrize(
    "answer",
    [{"x": "\ud800"}, {"\udcff": 1}, {1: 2}, {"x": 1.5}, {"x": b"x"}, {"x": float("nan")}, {"x": {1}}],
)
def test_the_writer_refuses_what_would_not_come_back(answer):
    with pytest.raises(ValueError):
        yamlfile.encode(receipt(answer))


def test_nesting_ends_where_the_reader_ends():
    def nested(depth: int) -> Any:
        value: Any = "\udcff"
        for _ in range(depth):
            value = [value]
        return {"x": value}

    record = receipt(nested(30))
    assert yamlfile.decode(Receipt, yamlfile.encode(record), NAME) == record
    with pytest.raises(ValueError, match="deep"):
        yamlfile.encode(receipt(nested(31)))


def test_a_record_over_the_limit_is_refused_before_it_is_written_or_parsed():
    fits = job(text="x" * (yamltext.LIMIT - len(GOOD) - 100))
    assert yamlfile.decode(Job, yamlfile.encode(fits), NAME) == fits
    with pytest.raises(BadRequest) as caught:
        yamlfile.encode(job(text="x" * yamltext.LIMIT))
    assert caught.value.code == "usage"
    assert damage(sealed(b'a: "' + b"x" * 200_000_000 + b'"\n')).details["cause"] == "too_large"


# ── cut, filled, spoilt ──


def test_every_prefix_is_known_as_cut_short():
    for end in range(1, len(GOOD)):
        error = damage(GOOD[:end])
        assert error.details["cause"] == "truncated", (end, error.message)
        assert "cut short" in error.message
    assert f"{len(BODY) - 1} of {len(BODY)} bytes" in damage(GOOD[:-1]).message


@given(st.data())
def test_every_prefix_of_any_record_is_damaged(data):
    kind = data.draw(st.sampled_from(KINDS))
    whole = yamlfile.encode(data.draw(values(kind)))
    damage(whole[: data.draw(st.integers(0, len(whole) - 1))], kind)


def test_every_flipped_bit_is_damage_or_in_the_writers_version():
    for position in range(len(GOOD)):
        for bit in range(8):
            damaged_or_same(position, 1 << bit)


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_every_changed_byte_is_damage_or_in_the_writers_version(position, flip):
    damaged_or_same(position, flip)


def damaged_or_same(position: int, flip: int) -> None:
    changed = bytearray(GOOD)
    changed[position] ^= flip
    version = HEAD.index(b"0.1.0")
    if version <= position < version + 5:
        try:
            assert yamlfile.decode(Job, bytes(changed), NAME) == job()
        except Damaged:
            return
    else:
        damage(bytes(changed))


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_no_bytes_raise_anything_but_damaged(noise, tail):
    for data in (
        noise,
        HEAD + noise,
        sealed(noise),
        GOOD + b"x" + noise,
        sealed(BODY + b"x" + noise),
        sealed(noise + tail),
    ):
        damage(data)


@given(st.text(st.sampled_from("a1: -?[]{}\"'\\|>&*!#%\n\t~,no"), max_size=40))
def test_no_yaml_raises_anything_but_damaged(text):
    damage(sealed(text.encode()))
    damage(sealed(BODY + b"x" + text.encode()))


def test_empty_and_nul_filled_files_are_named_as_such():
    assert damage(b"").details["cause"] == "empty"
    assert damage(bytes(len(GOOD))).details["cause"] == "nul_filled"
    assert "NUL" in damage(GOOD + bytes(100)).message
    assert damage(GOOD[:100] + bytes(len(GOOD) - 100)).details["cause"] == "nul"


def test_bytes_after_the_end_are_counted():
    error = damage(GOOD + b"# more\n")
    assert error.details["cause"] == "trailing"
    assert "7 bytes" in error.message


@pytest.mark.parametrize(
    ("cause", "saved"),
    [
        ("bom", b"\xef\xbb\xbf" + GOOD),
        ("utf16", GOOD.decode().encode("utf-16")),
        ("utf16", GOOD.decode().encode("utf-16-le")),
        ("utf16", GOOD.decode().encode("utf-16-be")),
        ("line_ends", GOOD.replace(b"\n", b"\r\n")),
        ("tab", GOOD.replace(b"  max:", b"\tmax:")),
        ("conflict", GOOD.replace(b"holder:", b"<<<<<<< HEAD\nholder:")),
        ("header", b"title: no record at all\nx: 1\n"),
        ("header", GOOD.replace(b"crc32 ", b"crc32  ")),
        ("checksum", GOOD.replace(b"one", b"on\xff")),
    ],
)
def test_what_an_editor_or_a_merge_did_is_named(cause, saved):
    assert damage(saved).details["cause"] == cause


def test_an_unknown_format_names_its_writer_and_asks_for_an_upgrade():
    error = damage(GOOD.replace(HEAD, b"format: 2\n# draftfs 0.9.0, whatever follows\n"))
    assert "written by draftfs 0.9.0 in format 2; this is draftfs 0.1.0, which reads format 1" in error.message
    assert error.details["cause"] == "format"
    assert "upgrade" in error.hint


# ── edited by hand, with the old checksum and with a right one ──


@pytest.mark.parametrize("seal", [lambda body: HEAD + body, sealed], ids=["old", "right"])
@pytest.mark.parametrize(
    ("old", "new", "field", "says"),
    [
        (b'holder: "ann"', b"holder: no", "holder", "expected text in quotes"),
        (b'holder: "ann"', b"holder: 2024-01-01", "holder", "expected text in quotes"),
        (b'holder: "ann"', b"holder: 007", "holder", "expected text in quotes"),
        (b'holder: "ann"', b"holder: true", "holder", "expected text, got true/false"),
        (b'holder: "ann"', b"holder: |\n  ann", "holder", "not quoted"),
        (b"epoch: 17", b'epoch: "17"', "epoch", "expected a whole number, got the text '17'"),
        (b"epoch: 17", b"epoch: 1_7", "epoch", "expected text in quotes or a whole number, got '1_7'"),
        (b"  max: 3", b"  max: true", "attempts.max", "expected a whole number, got true/false"),
        (b"    number: 1", b"    number: &one 1", "drafts.0.number", "anchor"),
        (b"    number: 1", b"    number: *one", "drafts.0.number", "alias"),
        (b"    number: 1", b"    number: !!int 1", "drafts.0.number", "tag"),
        (b"    number: 1", b"    number: 1\n    number: 1", "drafts.0.number", "a second time; the first is on line"),
        (b'title: "', b'tilte: "', "tilte", "unknown field"),
        (b'state: "open"', b'state: "opem"', "state", "expected one of"),
        (b'  - "src"', b'  - {bytes: "%41"}', "paths.1", "percent-escaped"),
        (b"because: null", b"yes: null", None, "quote it"),
        (b"because: null", b"? [because]\n: null", None, "not text"),
    ],
)
def test_a_hand_edit_is_reported_with_line_and_field(seal, old, new, field, says):
    assert old in BODY
    body = BODY.replace(old, new)
    error = damage(seal(body))
    assert says in error.message
    assert error.details.get("field") == field
    start = new.partition(b"\n    number")[0] if b"\n    number" in new else new
    extra = 1 if b"\n    number" in new else 0
    assert error.details["line"] == line_of(seal(body), start) + extra
    assert f"{NAME}:{error.details['line']}: " in error.message
    assert ("edited by hand" in error.message) == (seal is not sealed)
    assert (error.details["cause"] == "checksum") == (seal is not sealed)


def test_a_changed_value_of_the_right_type_is_seen_by_the_checksum():
    assert damage(GOOD.replace(b"epoch: 17", b"epoch: 18")).details["cause"] == "checksum"


@pytest.mark.parametrize("seal", [lambda body: HEAD + body, sealed], ids=["old", "right"])
def test_two_holders_are_refused_with_both_lines(seal):
    data = seal(BODY.replace(b'holder: "ann"\n', b'holder: "ann"\nholder: "bob"\n'))
    error, first = damage(data), line_of(data, b"holder")
    assert error.details["line"] == first + 1
    assert error.details["field"] == "holder"
    assert f"the first is on line {first}" in error.message


def test_a_missing_field_is_named():
    assert "attempts.max: missing" in damage(sealed(BODY.replace(b"  max: 3\n", b""))).message


@pytest.mark.parametrize("more", [b"---\na: 1\n", b"--- x\n", b"...\n---\na: 1\n"])
def test_a_second_document_is_refused(more):
    assert "second document" in damage(sealed(BODY + more)).message
    assert "second document" in damage(sealed(b"---\n" + BODY)).message


# ── bombs ──

ALIASES = b"a0: &a0 [x, x]\n" + b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 10))
BOMBS = {
    "aliases": ALIASES,
    "brackets": b"a: " + b"[" * 100_000,
    "braces": b"a: " + b"{a: " * 100_000,
    "dashes": b"a:\n  " + b"- " * 100_000,
    "question marks": b"? " * 100_000,
    "os.system": b"a: !!python/object/apply:os.system ['touch pwned']\n",
    "object": b"!!python/object:os.system {}\n",
    "large scalar": b'a: "' + b"x" * 1_000_000 + b'"\n',
    "many scalars": b"a: [" + b"1," * 500_000 + b"1]\n",
    "long number": b"a: " + b"1" * 900_000 + b"\n",
}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("bomb", [name for name in BOMBS if name != "many scalars"])
@pytest.mark.parametrize("seal", [lambda body: HEAD + body, sealed], ids=["old", "right"])
def test_bombs_are_damage_at_once(bomb, seal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    damage(seal(BOMBS[bomb]))
    assert not list(tmp_path.iterdir())


def test_a_mebibyte_of_numbers_is_damage_in_time():
    damage(sealed(BOMBS["many scalars"]))


def test_anchors_and_tags_are_refused_as_such():
    assert "anchor" in damage(sealed(ALIASES)).message
    assert "tag" in damage(sealed(BOMBS["os.system"])).message
    assert "nest" in damage(sealed(BOMBS["brackets"])).message


def test_the_loader_is_a_safe_one():
    assert issubclass(yamlwalk._Loader, yaml.constructor.SafeConstructor)
    assert not issubclass(yamlwalk._Loader, yaml.constructor.FullConstructor)
