"""Every command block of README.md and docs/*.md is run, each document in a shell and with a server of its own: what the documents
tell people to type works, and says what they say. documents.py has the convention."""
import collections
import pathlib

from documents import Desk, documents, listed
from harness import equal, main, once
from server import ROOT

EXCUSED_MAX = 12  # blocks that no test can run; each says why
PRINTED = {"docs/commands.md"}  # their blocks are what the program prints
PARTS = ["Tutorial", "How-to", "Reference", "Explanation"]


def reader(document):
    def test(ctx):
        Desk(ctx, document).run()
    return test


for one in documents():
    if one.runnable() and not one.note("run by"):
        name = "test_" + pathlib.Path(one.name).stem.lower().replace("-", "_")
        globals()[name] = reader(one)
        globals()[name].__name__ = name


@once
def test_each_block_says_what_it_is(ctx):
    """A fence without a word would be run by nobody, and missed by nobody."""
    bare = [f"{one.name}:{line}" for one in documents() if one.name not in PRINTED for line in one.bare]
    equal(bare, [], "fences without a word that documents.py knows")


@once
def test_few_blocks_are_excused(ctx):
    all_of_them = documents()
    excused = [(one.name, block) for one in all_of_them for block in one.excused()]
    for name, block in excused:
        print(f"# not run: {name}:{block.line}: {block.note('not run')}")
    run = sum(len(one.runnable()) for one in all_of_them)
    print(f"# {run} blocks are run, {len(excused)} are not")
    assert len(excused) <= EXCUSED_MAX, f"{len(excused)} blocks are excused, {EXCUSED_MAX} at most"
    assert all(block.note("not run") for _, block in excused)
    for one in all_of_them:
        if one.note("run by"):
            text = (ROOT / "test" / "e2e" / one.note("run by")).read_text()
            assert pathlib.Path(one.name).name in text, f"{one.note('run by')} does not read {one.name}"


@once
def test_the_index_names_each_document_once(ctx):
    text = (ROOT / "docs" / "index.md").read_text()
    equal([line[3:] for line in text.splitlines() if line.startswith("## ")], PARTS)
    named = collections.Counter(listed(text))
    there = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "index.md"] + ["../ARCHITECTURE.md"]
    equal(named, collections.Counter(there))


if __name__ == "__main__":
    main()
