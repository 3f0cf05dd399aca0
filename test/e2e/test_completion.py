"""peal completion: what a shell offers, asked of a real shell."""
import os
import re
import shutil
import subprocess

from harness import equal, main, once, run_peal
from server import peal_program

ASK = r'''
source <(peal completion bash) || exit 9
[[ $(complete -p peal) == *"-F _peal peal" ]] || exit 8
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_peal
printf '%s\n' "${COMPREPLY[@]}"
'''
PATH = f"{os.path.dirname(peal_program())}:{os.environ['PATH']}"


def offered(*words):
    """What bash offers behind the words, of which the last is begun."""
    ran = subprocess.run(["bash", "-c", ASK, "bash", "peal", *words], capture_output=True, text=True,
                         env={"PATH": PATH}, timeout=60)
    equal((ran.returncode, ran.stderr), (0, ""))
    return set(filter(None, ran.stdout.splitlines()))


def commands():
    return set(re.findall(r"^  ([a-z-]+) +\S", run_peal("help").out.split("Examples:")[0], re.M))


def options(*command):
    return set(re.findall(r"(--[a-z-]+)", run_peal(*command, "--help").out.rpartition("Options:")[2]))


@once
def test_bash_offers_the_commands_of_help(ctx):
    assert len(commands()) > 15, commands()
    equal(offered(""), commands() | {"help"})
    equal(offered("dele"), set())
    equal(offered("deli"), {"deliveries"})
    equal(offered("help", "back"), {"backup"})


@once
def test_bash_offers_verbs_and_the_options_of_each(ctx):
    equal(offered("completion", ""), {"bash", "zsh", "fish"})
    equal(offered("deliveries", "dis"), {"discard"})
    equal(offered("deliveries", "show", "--"), offered("health", "--") | {"--tenant"})
    assert "--dry-run" in offered("deliveries", "retry", "--")
    # Without a verb the first is meant.
    equal(offered("deliveries", "--"), offered("deliveries", "list", "--"))


@once
def test_every_option_of_a_command_without_verbs_is_offered(ctx):
    for command in ("serve", "doctor", "emit", "health"):
        equal(offered(command, "--") | {"--file"}, options(command) | {"--file"}, command)


@once
def test_nothing_is_offered_for_a_value(ctx):
    """So that the shell goes on with names of files."""
    equal(offered("serve", "--store", "s"), set())
    equal(offered("backup", "x"), set())


@once
def test_other_shells_can_read_theirs(ctx):
    for shell in ("zsh", "fish"):
        printed = run_peal("completion", shell)
        equal(printed.code, 0)
        for command in commands():
            assert command in printed.out, (shell, command)
        if shutil.which(shell):
            ran = subprocess.run([shell, "-n", "/dev/stdin"], input=printed.out, text=True,
                                 capture_output=True, timeout=60)
            equal((ran.returncode, ran.stderr), (0, ""), shell)
    equal(run_peal("completion").out, run_peal("completion", "bash").out)
    equal(run_peal("completion", "tcsh").code, 2)


if __name__ == "__main__":
    main()
