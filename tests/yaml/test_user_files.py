import pickle
import time

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from draftfs import jobsfile
from draftfs.engine import yamltext, yamlwalk
from draftfs.engine.userfile import Odd, parse_user_file
from draftfs.errors import BadRequest
from draftfs.jobsfile import NewJob

NAME = "jobs.yaml"


def refusal(data: bytes | str, read=jobsfile.read, code="bad_file") -> BadRequest:
    before = time.perf_counter()
    with pytest.raises(BadRequest) as caught:
        read(data.encode() if isinstance(data, str) else data, NAME)
    assert time.perf_counter() - before < 20  # linear takes one or two, whatever machine this is
    assert caught.value.code == code
    assert caught.value.message.startswith(NAME)
    assert caught.value.details["file"] == NAME
    assert pickle.loads(pickle.dumps(caught.value)).details == caught.value.details
    return caught.value


def value(text: str):
    return parse_user_file(text.encode(), NAME).value


def job(fields: str) -> str:
    return f"jobs:\n  - title: t\n    paths: p\n    {fields}\n"


@pytest.fixture(params=["C", "Python"])
def parser(request, monkeypatch):
    if request.param == "Python":
        monkeypatch.setattr(yamlwalk, "_Loader", yaml.SafeLoader)


# ── what bare words mean ──


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("bare", "means"),
    [
        *((word, True) for word in ("true", "yes", "on", "True", "YES", "On")),
        *((word, False) for word in ("false", "no", "off", "False", "NO", "Off")),
        *((word, None) for word in ("null", "~", "Null", "")),
        *((word, int(word)) for word in ("0", "7", "-7", "100000")),
        *(
            (word, word)
            for word in ("y", "n", "0o7", "1e5", "08", "61e9540", "680841e1", "9509425349e4", "1e400", "a b")
        ),
        *((word, Odd(word, "a date")) for word in ("2024-01-01", "2026-13-45", "2024-01-01T00:00:00Z")),
        *((word, Odd(word, "a decimal number")) for word in ("1.5", ".inf", ".nan", "1.5e+3", "1:30.5")),
        *(
            (word, Odd(word, "a number in another notation"))
            for word in ("007", "0x1F", "0b11", "+1", "1_000", "12:30", "-0", "9" * 5000)
        ),
        ("=", Odd("=", "a sign of YAML's own")),
        ("<<", Odd("<<", "a sign of YAML's own")),
    ],
)
def test_bare_words_are_what_yaml_1_1_says_or_marked_as_odd(bare, means):
    assert repr(value(f"a: {bare}\n")) == repr({"a": means})
    assert repr(value(f"- {bare}\n- x\n")) == repr([means, "x"])


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("text", ["no", "007", "2024-01-01", "1.5", "null", "<<", "", "💥"])
def test_quoted_words_and_blocks_are_text(text):
    assert value(f"a: '{text}'\nb: \"{text}\"\nc: |-\n  {text}\nd: >-\n  {text}\n") == dict.fromkeys("abcd", text)


@pytest.mark.usefixtures("parser")
def test_blocks_keep_or_fold_their_lines():
    assert value("a: |\n  one\n\ttwo\n  three\nb: >\n  one\n  two\n".replace("\n\t", "\n  \t")) == {
        "a": "one\n\ttwo\nthree\n",
        "b": "one two\n",
    }


@pytest.mark.usefixtures("parser")
def test_a_bom_and_crlf_are_taken_as_they_come():
    document = parse_user_file(b"\xef\xbb\xbfa: 1\r\nb:\r\n  - x\r\n", NAME)
    assert document.value == {"a": 1, "b": ["x"]}
    assert document.line(("b", "0")) == 3


def test_an_empty_file_holds_nothing():
    assert value("") is None
    assert value("# only a comment\n") is None


def test_lines_are_known_by_field():
    document = parse_user_file(b"# c\njobs:\n  - title: x\n    paths:\n      - a\n      - b\n  -\n    title: y\n", NAME)
    at = {
        field: document.line(field)
        for field in (("jobs",), ("jobs", "0"), ("jobs", "0", "paths", "1"), ("jobs", "1", "title"))
    }
    assert list(at.values()) == [2, 3, 6, 8]
    assert document.line(("jobs", "2")) is None


# ── what is refused ──


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("cause", "line", "text"),
    [
        ("duplicate_key", 3, "a: 1\nb: 2\na: 3\n"),
        ("duplicate_key", 3, 'x:\n  a: 1\n  "a": 3\n'),
        ("anchor", 2, "a: 1\nb: &x 1\n"),
        ("anchor", 1, "a: &x {b: 1}\n"),
        ("alias", 2, "a: 1\nb: *x\n"),
        ("tag", 2, "a: 1\nb: !!str 1\n"),
        ("tag", 1, "!mine\na: 1\n"),
        ("tag", 1, "a: ! b\n"),
        ("documents", 2, "a: 1\n--- \na: 2\n"),
        ("key", 1, "no: 1\n"),
        ("key", 1, "1: 1\n"),
        ("key", 1, "2024-01-01: 1\n"),
        ("key", 1, "<<: {a: 1}\n"),
        ("key", 1, "? [a]\n: 1\n"),
        ("key", 1, "? |\n  a\n: 1\n"),
        ("syntax", 2, "a: 1\nb: [\n"),
        ("tab", 2, "a:\n\t- b\n"),
        ("conflict", 2, "a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> other\n"),
        ("conflict", 1, "<<<<<<< HEAD\r\nb: 1\r\n=======\r\nb: 2\r\n>>>>>>> other\r\n"),
        ("nul", 2, "a: 1\nb: x\0y\n"),
        ("control", 2, "a: 1\nb: x\x1by\n"),
        ("nul_filled", None, "\0" * 100),
    ],
)
def test_ambiguous_or_executable_yaml_is_refused_with_its_line(cause, line, text):
    error = refusal(text, parse_user_file)
    assert error.details["cause"] == cause
    if cause != "syntax":  # the two parsers see it on different lines
        assert error.details.get("line") == line
    if line:
        assert error.message.startswith(f"{NAME}:{error.details['line']}: ")


def test_both_lines_of_a_duplicate_are_named():
    error = refusal("x:\n  a: 1\n  b: 2\n  a: 3\n", parse_user_file)
    assert error.message == "jobs.yaml:4: x.a: a second time; the first is on line 2"


@pytest.mark.parametrize("data", ["a: 1\n".encode("utf-16"), "a: 1\n".encode("utf-16-le"), b"a: 1\nb: \xff\n"])
def test_only_utf_8_is_read(data):
    assert "not UTF-8" in refusal(data, parse_user_file).message


@pytest.mark.usefixtures("parser")
def test_surrogate_pairs_of_json_are_no_yaml():
    refusal(r'a: "\ud83d\udca5"', parse_user_file)


def test_nesting_and_size_have_limits():
    assert value("[" * 32 + "]" * 32)
    assert refusal("[" * 34 + "]" * 34, parse_user_file).details["cause"] == "depth"
    assert refusal(b"a: " + b"x" * yamltext.LIMIT, parse_user_file).details["cause"] == "too_large"
    assert parse_user_file(b"a: 1", NAME, limit=4).value == {"a": 1}
    assert refusal(b"a: 12", lambda data, name: parse_user_file(data, name, limit=4)).details["cause"] == "too_large"


ALIASES = b"a0: &a0 [x, x]\n" + b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 10))


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    "bomb",
    [
        ALIASES,
        b"[" * 100_000,
        b"{a: " * 100_000,
        b"- " * 100_000,
        b"jobs: !!python/object/apply:os.system ['touch pwned']\n",
        b"x" * 200_000_000,
        b"a: " + b"1" * 900_000,
        b"a: " + b"1_" * 500_000,
        b"a: " + b"1:" * 500_000,
    ],
    ids=["aliases", "brackets", "braces", "dashes", "os.system", "200 MB", "digits", "underscores", "colons"],
)
def test_bombs_are_refused_at_once(bomb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refusal(bomb)
    assert not list(tmp_path.iterdir())


@given(st.text(st.sampled_from("a1: -?[]{}\"'\\|>&*!#%\n\r\t~,no.0"), max_size=60) | st.text(), st.binary(max_size=60))
def test_nothing_but_a_refusal_is_ever_raised(text, noise):
    for data in (text.encode("utf-8", "surrogatepass"), noise):
        for read in (parse_user_file, jobsfile.read):
            try:
                read(data, NAME)
            except BadRequest as error:
                assert error.code in {"bad_file", "bad_job"}  # noqa: PT017 - success is as good


@given(
    st.recursive(
        st.text(max_size=9), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner)
    )
)
def test_what_pyyaml_writes_of_text_is_read_as_that_text(data):
    written = yaml.safe_dump(data, default_style='"', encoding="utf-8", allow_unicode=False)
    if b"&id" not in written and b"*id" not in written:
        assert parse_user_file(written, NAME).value == data


# ── jobs files ──


def test_a_whole_jobs_file_is_read_in_its_order():
    text = """\
# what is to be done
jobs:
  - title: Write the parser
    paths: [src/parser.py, docs]
    key: parser
    after: [lexer, 12]
    attempts: 3
    contest: 2
    text: |
      One.
      Two 💥
  - {title: "no", paths: "007", key: lexer}
  - {title: last, paths: [a], after: parser}
  - {title: last, paths: [a], after: 12}
"""
    assert jobsfile.read(text.encode(), NAME) == (
        NewJob("Write the parser", ("src/parser.py", "docs"), ("lexer", 12), "parser", 3, 2, "One.\nTwo 💥\n"),
        NewJob("no", ("007",), key="lexer"),
        NewJob("last", ("a",), ("parser",)),
        NewJob("last", ("a",), (12,)),
    )
    assert jobsfile.read(b"jobs: []", NAME) == ()


@pytest.mark.parametrize(
    ("bare", "got"),
    [
        ("no", "true/false"),
        ("on", "true/false"),
        ("7", "a number"),
        ("007", "a number in another notation"),
        ("2024-01-01", "a date"),
        ("1.5", "a decimal number"),
    ],
)
def test_bare_words_in_place_of_text_are_to_be_quoted(bare, got):
    says = f"expected text, got {got}: quote it"
    start = "jobs:\n  - title: fine\n    paths: [a]\n"
    assert refusal(f"{start}  - title: {bare}\n    paths: [a]\n").message == f"jobs.yaml:4: jobs.1.title: {says}"
    assert refusal(f"{start}  - title: x\n    paths: [a, {bare}]\n").message == f"jobs.yaml:5: jobs.1.paths.1: {says}"
    assert refusal(f"{start}  - title: x\n    paths: {bare}\n").message == f"jobs.yaml:5: jobs.1.paths: {says}"
    assert refusal(job(f"text: {bare}")).message == f"jobs.yaml:4: jobs.0.text: {says}"
    assert refusal(job(f"key: {bare}")).details["field"] == "jobs.0.key"


@pytest.mark.parametrize(
    ("text", "line", "field", "says"),
    [
        ("", None, None, "expected fields (jobs), got nothing"),
        ("- a\n", 1, None, "expected fields (jobs), got a list"),
        ("a: 1\n", 1, "a", "unknown field"),
        ("jbos: []\n", 1, "jbos", "did you mean jobs?"),
        ("jobs: []\nmore: 1\n", 2, "more", "unknown field"),
        ("jobs: x\n", 1, "jobs", "expected a list, got the text 'x'"),
        ("jobs:\n  - x\n", 2, "jobs.0", "expected fields (title, paths), got the text 'x'"),
        ("jobs:\n  - title: t\n", 2, "jobs.0.paths", "missing"),
        ("jobs:\n  - paths: t\n", 2, "jobs.0.title", "missing"),
        ("jobs:\n  - title: ' '\n    paths: p\n", 2, "jobs.0.title", "is empty"),
        ("jobs:\n  - title:\n    paths: p\n", 2, "jobs.0.title", "expected text, got nothing"),
        ("jobs:\n  - title: t\n    paths: []\n", 3, "jobs.0.paths", "at least one"),
        ("jobs:\n  - title: t\n    paths: ['']\n", 3, "jobs.0.paths.0", "is empty"),
        ("jobs:\n  - title: t\n    paths: {a: b}\n", 3, "jobs.0.paths", "expected text, got fields"),
        (job("tilte: x"), 4, "jobs.0.tilte", "did you mean title?"),
        (job("afters: x"), 4, "jobs.0.afters", "did you mean after?"),
        (job('"a\\nb": x'), 4, "jobs.0.'a\\nb'", "unknown field"),
        (job("attempts: 0"), 4, "jobs.0.attempts", "at least 1, got 0"),
        (job("attempts: yes"), 4, "jobs.0.attempts", "expected a whole number, got true/false"),
        (job("attempts: 0x1F"), 4, "jobs.0.attempts", "a number in another notation"),
        (job("attempts: '3'"), 4, "jobs.0.attempts", "expected a whole number, got the text '3'"),
        (job("contest: 1"), 4, "jobs.0.contest", "at least 2, got 1"),
        (job("contest: 2.5"), 4, "jobs.0.contest", "expected a whole number, got a decimal number"),
        (job("after: [0]"), 4, "jobs.0.after.0", "at least 1, got 0"),
        (job("after: [no]"), 4, "jobs.0.after.0", "quote it"),
        (job("after: [[1]]"), 4, "jobs.0.after.0", "expected text, got a list"),
        (job('text: "a\\0b"'), 4, "jobs.0.text", "NUL"),
        (job('text: "a"\n    "\\0": 1'), 5, None, "unknown field"),
        (job("key: k\n  - title: u\n    key: k\n    paths: p"), 6, "jobs.1.key", "'k' is taken already, on line 4"),
    ],
)
def test_wrong_fields_are_refused_by_line_and_name(text, line, field, says):
    error = refusal(text)
    assert says in error.message
    assert error.details.get("line") == line
    assert field is None or error.details["field"] == field
    assert "\n" not in error.message


def test_after_a_key_that_is_not_there_is_no_job():
    error = refusal(job("key: lexer\n  - title: u\n    after: [1, lexr]\n    paths: p"), code="bad_job")
    assert error.details["field"] == "jobs.1.after"
    assert error.details["line"] == 6
    assert "did you mean lexer?" in error.message


def test_markers_of_a_merge_are_named_with_their_line():
    text = "jobs:\n<<<<<<< HEAD\n  - title: a\n=======\n  - title: b\n>>>>>>> other\n    paths: p\n"
    error = refusal(text)
    assert error.message.startswith("jobs.yaml:2: ")
    assert "conflict" in error.message


def test_markers_inside_a_text_are_text():
    text = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"
    indented = text.replace("\n", "\n      ")
    (read,) = jobsfile.read(job(f"text: |\n      {indented}").encode(), NAME)
    assert read.text == text
