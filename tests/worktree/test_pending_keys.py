"""A made-up receipt key outlives its process until a definite answer has been printed (§5, C66)."""

import itertools
import os
import signal
import stat

import pytest

from draftfs.errors import Damaged
from draftfs.worktree import PendingKeys

PRINT = "a" * 64
OTHER = "b" * 64

TAKER = """
import os, sys
from draftfs.worktree import PendingKeys
keys = PendingKeys(sys.argv[1], lambda: os.urandom(8).hex())
print(*keys.take(sys.argv[2]), flush=True)
for line in sys.stdin:
    print(getattr(keys, line.strip())(), flush=True)
"""


@pytest.fixture
def folder(worktree):
    return worktree.pending


@pytest.fixture
def keys(folder):
    """Makes PendingKeys whose keys are key-1, key-2, ..., and lets go of what they hold at the end."""
    numbers = itertools.count(1)
    made = []

    def make():
        made.append(PendingKeys(folder, lambda: f"key-{next(numbers)}"))
        return made[-1]

    yield make
    for each in made:
        each.leave()


def files(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def taken(one):
    key, over = one.stdout.readline().split()
    return key, over == "True"


def tell(one, word):
    one.stdin.write(f"{word}\n")
    one.stdin.flush()
    return one.stdout.readline().strip()


def test_settled_key_is_gone(keys, folder):
    first = keys()
    assert first.take(PRINT) == ("key-1", False)
    assert len(files(folder)) == 1
    first.settle()
    assert files(folder) == []
    assert keys().take(PRINT) == ("key-2", False)


def test_left_key_is_taken_over_by_the_same_request_only(keys, folder):
    first = keys()
    first.take(PRINT)
    first.leave()
    assert keys().take(OTHER) == ("key-2", False)
    again = keys()
    assert again.take(PRINT) == ("key-1", True)
    again.settle()
    assert [name[:64] for name in files(folder)] == [OTHER]


def test_two_equal_commands_at_once_are_two_requests(keys, folder):
    first, second = keys(), keys()
    assert first.take(PRINT) == ("key-1", False)
    assert second.take(PRINT) == ("key-2", False)
    second.settle()
    assert len(files(folder)) == 1
    first.settle()
    assert files(folder) == []


def test_renewed_key_replaces_the_one_in_hand(keys, folder):
    first = keys()
    first.take(PRINT)
    assert first.renew() == "key-2"
    assert len(files(folder)) == 1
    assert keys().take(PRINT) == ("key-3", False)
    first.leave()
    assert keys().take(PRINT) == ("key-2", True)


def test_settling_or_leaving_twice_is_harmless(keys, folder):
    first = keys()
    first.settle()
    first.take(PRINT)
    first.leave()
    first.settle()
    assert len(files(folder)) == 1


def test_private(keys, folder):
    before = os.umask(0)
    try:
        keys().take(PRINT)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(folder).st_mode) & 0o777 == 0o700
    (name,) = files(folder)
    assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600


def test_damaged_key_is_named_and_not_taken_for_none(keys, folder):
    first = keys()
    first.take(PRINT)
    first.leave()
    (name,) = files(folder)
    with open(os.path.join(folder, name), "w") as stream:
        stream.write('{"format": 1}')
    with pytest.raises(Damaged, match=name):
        keys().take(PRINT)
    assert keys().take(OTHER) == ("key-2", False)


def test_killed_process_leaves_its_key_to_the_next(process, folder):
    first = process(TAKER, folder, PRINT)
    key, over = taken(first)
    assert not over
    second = process(TAKER, folder, PRINT)
    other, over = taken(second)
    assert (over, other != key) == (False, True)
    first.send_signal(signal.SIGKILL)
    first.wait()
    third = process(TAKER, folder, PRINT)
    assert taken(third) == (key, True)
    tell(third, "settle")
    assert taken(process(TAKER, folder, PRINT))[1] is False
    tell(second, "settle")
    assert len(files(folder)) == 1


def test_stopped_process_keeps_its_key(process, folder):
    first = process(TAKER, folder, PRINT)
    key, _ = taken(first)
    first.send_signal(signal.SIGSTOP)
    assert taken(process(TAKER, folder, PRINT))[0] != key
    first.send_signal(signal.SIGCONT)
    assert tell(first, "settle") == "None"


def test_children_do_not_hold_their_parents_key(process, folder):
    child = "subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)"
    code = "import subprocess\n" + TAKER.replace("for line", f"child = {child}\nfor line")
    first = process(code, folder, PRINT)
    key, _ = taken(first)
    tell(first, "leave")
    assert taken(process(TAKER, folder, PRINT)) == (key, True)


def test_one_left_key_goes_to_one_of_many(process, folder):
    for _ in range(5):
        maker = process(TAKER, folder, PRINT)
        key, _ = taken(maker)
        maker.kill()
        maker.wait()
        several = [process(TAKER, folder, PRINT) for _ in range(4)]
        answers = [taken(one) for one in several]
        assert [answer for answer in answers if answer[1]] == [(key, True)]
        assert len({answer[0] for answer in answers}) == 4
        for one in several:
            tell(one, "settle")
        assert files(folder) == []


def test_key_settled_between_open_and_lock_is_not_taken_over(keys, folder, monkeypatch):
    first, second = keys(), keys()
    first.take(PRINT)
    real = os.open

    def open_then_settle(path, *arguments, **more):
        descriptor = real(path, *arguments, **more)
        if os.path.basename(path).startswith(PRINT) and first._held >= 0:
            first.settle()
        return descriptor

    monkeypatch.setattr(os, "open", open_then_settle)
    assert second.take(PRINT) == ("key-2", False)
    assert len(files(folder)) == 1
