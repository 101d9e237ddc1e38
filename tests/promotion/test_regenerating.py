"""`regenerate`: targets hold again what their standing choices say; hand edits are kept first."""

import os

import pytest

from draftfs import Damaged, EnvironmentFault
from tests.promotion.test_replacing import refused, sha
from tests.promotion.test_undoing import SPEC
from tests.support import git


@pytest.fixture
def chosen(field, desk):
    desk.promote(desk.draft("chosen\n"), desk.draft("text\n", "a.txt"))
    return desk


def test_a_hand_edit_is_kept(field, chosen):
    field.write("me", SPEC, "by hand").chmod(0o755)
    said = field.me.regenerate(dry_run=True)
    assert chosen.read() == b"by hand"
    done = field.me.regenerate()
    assert done.regenerated == said.regenerated
    (line,) = done.regenerated
    assert (line.number, line.sha256, line.previous_sha256) == (1, sha("chosen\n"), sha("by hand"))
    assert (chosen.read(), chosen.read(line.kept)) == (b"chosen\n", b"by hand")
    assert not (chosen.root / SPEC).stat().st_mode & 0o111
    assert chosen.line().stale is False
    position = field.me.log()[-1].position
    assert (field.me.regenerate().regenerated, field.me.log()[-1].position) == ((), position)


def test_what_the_store_knows_already_is_not_kept_again(field, chosen):
    field.write("me", SPEC, "v0\n")
    assert field.me.regenerate([SPEC]).regenerated[0].kept is None
    (chosen.root / SPEC).unlink()
    assert field.me.regenerate(["docs"]).regenerated[0].previous_sha256 is None
    assert chosen.read() == b"chosen\n"


def test_only_what_is_named(field, chosen):
    field.write("me", SPEC, "edited\n"), field.write("me", "a.txt", "edited\n")
    assert [each.target for each in field.me.regenerate(["docs"]).regenerated] == [SPEC]
    assert chosen.read("a.txt") == b"edited\n"
    assert [each.target for each in field.me.regenerate().regenerated] == ["a.txt"]
    refused("agents_cannot_promote", field.ann.regenerate)


def test_only_the_executable_bit(field, chosen):
    (chosen.root / SPEC).chmod(0o755)
    assert field.me.regenerate().regenerated[0].kept is None
    assert not (chosen.root / SPEC).stat().st_mode & 0o111


def test_not_a_choice_that_git_has_moved_past(field, chosen):
    field.write("me", SPEC, "third\n")
    git("commit", "-qm", "third", SPEC, cwd=field.root)
    git("switch", "-qc", "other", cwd=field.root)
    field.write("me", "a.txt", "on another branch\n")
    assert field.me.regenerate().regenerated == ()
    assert (chosen.read(), chosen.read("a.txt")) == (b"third\n", b"on another branch\n")


def test_a_deletion(field, desk):
    desk.promote(desk.draft(None, delete=True))
    field.write("me", SPEC, "back by hand")
    kept = field.me.regenerate().regenerated[0].kept
    assert ((desk.root / SPEC).exists(), desk.read(kept)) == (False, b"back by hand")


def test_conversion_by_git_alone_is_no_difference(field, desk):
    desk.promote(desk.draft("one\ntwo\n"))
    git("commit", "-qam", "chosen", cwd=field.root)
    git("config", "core.autocrlf", "true", cwd=field.root)
    (desk.root / SPEC).unlink()
    git("checkout", "--", SPEC, cwd=field.root)
    assert b"\r\n" in desk.read()
    assert field.me.regenerate().regenerated == ()
    field.write("me", SPEC, "one\r\ntwo!\r\n")
    assert field.me.regenerate().regenerated[0].kept
    assert desk.read() == b"one\ntwo\n", "the draft's bytes, exactly"


def test_after_an_install_that_failed(field, desk, at):
    def swap(_):
        os.replace(desk.root / SPEC, desk.root / "moved-away")
        (desk.root / SPEC).mkdir()

    ref = desk.draft("drafted")
    at("append", swap)
    with pytest.raises(EnvironmentFault) as fault:
        desk.promote(ref)
    assert "draftfs regenerate -- docs/spec.md" in fault.value.hint
    refused("not_a_file", field.me.regenerate)
    (desk.root / SPEC).rmdir()
    os.replace(desk.root / "moved-away", desk.root / SPEC)
    assert field.me.regenerate().regenerated[0].kept is None
    assert (desk.read(), desk.line().stale, desk.litter()) == (b"drafted", False, [])


@pytest.mark.parametrize("moment", [("open", "/lock"), ("append", "journal"), ("exchange", "spec.md")])
def test_an_editor_saves_meanwhile(field, chosen, at, moment):
    field.write("me", SPEC, "first edit")
    left = at(moment[0], lambda _: (chosen.root / SPEC).write_text("second edit"), moment[1])
    kept = field.me.regenerate().regenerated[0].kept
    names = [name for name in os.listdir(chosen.root / "docs") if name.endswith("@hand-edit")]
    assert (left[0], chosen.read()) == (0, b"chosen\n")
    assert b"second edit" in {chosen.read(f"docs/{name}") for name in names}
    assert kept is not None


def test_another_choice_meanwhile(field, chosen, at):
    field.write("me", SPEC, "edited")
    other = chosen.draft("other", by="bob")
    at("open", lambda _: field.me.promote([other], force=True), "/lock")
    assert field.me.regenerate([SPEC]).regenerated == ()
    assert chosen.read() == b"other"


def test_a_damaged_record_stops_only_what_needs_it(field, chosen):
    field.damaged = True
    field.write("me", SPEC, "edited"), field.write("me", "a.txt", "edited")
    (field.store / "drafts/a.txt/target.yaml").write_text("nonsense")
    for paths in ((), ["a.txt"]):
        with pytest.raises(Damaged):
            field.me.regenerate(paths)
    assert [each.target for each in field.me.regenerate(["docs"]).regenerated] == [SPEC]
    assert chosen.read("a.txt") == b"edited"
