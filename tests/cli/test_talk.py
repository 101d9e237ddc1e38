"""`read`, `ack`, `send` and `log` on the command line: a page for people, exact columns in a pipe."""

from __future__ import annotations

from tests.cli.conftest import answer, in_terminal


def test_a_message_on_a_terminal_and_in_a_pipe(place):
    body = "\n".join(f"line {number}\x1b[31m" for number in range(1, 9))
    (place.root / "body.txt").write_text(body)
    place.me("send", "--to", "ann,bob", "--subject", "two\nlines", "--body-file", "body.txt", "--job", "1")
    _, shown = in_terminal("log", "--kind", "message.sent", "--color", "never", cwd=place.root)
    day, line, *rest = shown.splitlines()
    assert (len(day), line.endswith("to ann, bob: two\\x0alines (job 1)")) == (10, True)
    assert rest == [
        *(f"      | line {number}\\x1b[31m" for number in range(1, 7)),
        "      | … all 8 lines: draftfs log --after 2 --limit 1 --full",
    ]
    _, full = in_terminal("log", "--after", "2", "--limit", "1", "--full", "--color", "never", cwd=place.root)
    assert full.count("\n") == 10
    (row,) = place.me("log", "--job", "1", "--kind", "message.sent").out.splitlines()
    position, _, _, words, text = row.split("\t")
    assert (position, words) == ("3", "to ann, bob: two\\x0alines (job 1)")
    assert text.replace("\\x0a", "\n").replace("\\x1b", "\x1b") == body
    *_, last = place.me("read", "--as", "ann", "--mine").out.splitlines()
    assert last == "page\tann:1:3"
    _, page = in_terminal("read", "--as", "ann", "--color", "never", cwd=place.root)
    assert page.splitlines()[-1] == "next: draftfs ack ann:1:3 --as ann"
    assert place.me("ack", "ann:1:3", "--as", "ann").out == "acknowledged up to position 3\n"
    _, page = in_terminal("read", "--as", "ann", cwd=place.root)
    assert page == "nothing new for ann\n"


def test_how_they_are_called_wrongly(place):
    for words in (
        ("send", "--subject", "x"),
        ("send", "--all", "--to", "ann", "--subject", "x"),
        ("send", "--all"),
        ("send", "--all", "--subject", "x", "--body", "x", "--body-file", "x"),
        ("read", "--follow", "--wait", "1"),
        ("log", "--trim", "1", "--kind", "job.added"),
        ("log", "--overtake"),
        ("log", "--kind", "job.adde"),
        ("ack", "ann"),
    ):
        assert place.me(*words).status == 2, words
    assert place.me("log").out.count("\n") == 2


def test_trimming_is_said(place):
    assert place.me("read", "--as", "r").status == 0
    refusal = place.me("log", "--trim", "2")
    assert (refusal.status, "r is at 0" in refusal.err, "--overtake" in refusal.err) == (3, True, True)
    done = place.me("log", "--trim", "2", "--overtake")
    assert done.out == "the feed begins at position 3 now\novertaken: r\n"
    told = place.me("read", "--as", "r")
    assert told.err == "warning: positions 1 to 2 were trimmed before r acknowledged them\n"
    assert answer(place.me("read", "--as", "r", "--json"))["lost"] == {"first": 1, "last": 2}
    assert answer(place.me("log", "--json"))["first"] == 3
