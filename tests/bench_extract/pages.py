"""Pages of Debian packages, with sentences that a reader wants and boilerplate that nobody wants, marked by hand."""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """A page: its package, who makes its HTML, where it is, what must be in its text and what must not."""

    package: str
    maker: str
    path: str
    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]


PAGES = (
    Page(
        "python3.11-doc",
        "Python",
        "/usr/share/doc/python3.11/html/library/textwrap.html",
        (
            "Text wrapping and filling",
            "Optional keyword arguments correspond to the instance attributes of TextWrapper, documented below.",
            "The maximum length of wrapped lines.",
            "If it is false, long words will not be broken, and some lines may be longer than width.",
            'textwrap.shorten("Hello world!", width=11)',
        ),
        ("Previous topic", "Show Source", "Report a Bug", "Please donate", "Created using Sphinx", "Next topic"),
    ),
    Page(
        "python3.11-doc",
        "Python",
        "/usr/share/doc/python3.11/html/tutorial/errors.html",
        (
            "Until now error messages haven\u2019t been more than mentioned",
            "it would have printed B, B, B \u2014 the first matching except clause is triggered.",
            "The builtin ExceptionGroup wraps a list of exception instances so that they can be raised together.",
            "raise ExceptionGroup('there were problems', excs)",
            "Enriching Exceptions with Notes",
        ),
        ("Previous topic", "Show Source", "Report a Bug", "Zero Clause BSD License", "Created using Sphinx"),
    ),
    Page(
        "git-doc",
        "git",
        "/usr/share/doc/git-doc/git-stash.html",
        (
            "Stash the changes in a dirty working directory away",
            "git stash drop [-q | --quiet] [<stash>]",
            "Show the changes recorded in the stash entry as a diff",
            "When you are in the middle of something, your boss comes in and demands that you fix",
            "If this is set to true, the git stash show command will show the untracked files of a stash entry.",
        ),
        ("Last updated 2024",),
    ),
    Page(
        "git-doc",
        "git",
        "/usr/share/doc/git-doc/gitworkflows.html",
        (
            "This document attempts to write down and motivate some of the workflow elements used for git.git itself.",
            "As a general rule, you should try to split your changes into small logical steps",
            "Any nontrivial feature will require several patches to implement",
            "The merge workflow works by copying branches between upstream and downstream.",
            "git pull --rebase <URL> <branch>",
            "which can help if you get conflicts",
        ),
        ("Last updated 2024",),
    ),
    Page(
        "developers-reference",
        "Debian, Sphinx",
        "/usr/share/developers-reference/beyond-pkging.html",
        (
            "Debian is about a lot more than just packaging software and maintaining those packages.",
            "We encourage you to file bugs as you find them in Debian packages.",
            "Imagine how a relative will feel if they read the e-mail of the deceased",
            "For every file, ask yourself why the file is there",
            "Contacting other maintainers",
        ),
        ("Previous topic", "Show Source", "Quick search", "Created using Sphinx", "Next topic"),
    ),
    Page(
        "debian-handbook",
        "Debian, Publican",
        "/usr/share/doc/debian-handbook/html/en-US/sect.apt-cache.html",
        (
            "The apt-cache command can display much of the information stored in APT's internal database.",
            "A cache is a temporary storage system used to speed up frequent data access",
            "Some features are more rarely used.",
            "apt-cache pkgnames displays the list of all the packages which appear at least once in the cache.",
            "APT will not install it automatically based on the priority.",
        ),
        ("Download the ebook", "The Debian Administrator's Handbook", "6.4. The apt-file Command"),
    ),
    Page(
        "debian-handbook",
        "Debian, Publican",
        "/usr/share/doc/debian-handbook/html/en-US/sect.apparmor.html",
        (
            "AppArmor is a Mandatory Access Control (MAC) system built on Linux's LSM",
            "AppArmor confines programs to a limited set of resources.",
            "Even though creating an AppArmor profile is rather easy, most programs do not have one.",
            "you should use the program in all the ways that it is legitimately used.",
            "Adding #include <abstractions/nis> to profile.",
        ),
        (
            "Download the ebook",
            "The Debian Administrator's Handbook",
            "14.3. Supervision: Prevention, Detection, Deterre",
        ),
    ),
    Page(
        "postgresql-doc-15",
        "PostgreSQL",
        "/usr/share/doc/postgresql-doc-15/html/explicit-locking.html",
        (
            "PostgreSQL provides various lock modes to control concurrent access to data in tables.",
            "is self-exclusive so that only one session can hold it at a time.",
            "except that it acquires a shared lock rather than exclusive lock on each retrieved row.",
            "a transaction seeking either a table-level or row-level lock will wait indefinitely",
            "SELECT pg_advisory_lock(id) FROM foo WHERE id = 12345; -- ok",
            "the second form is dangerous because the LIMIT is not guaranteed to be applied",
        ),
        ("Chapter 13. Concurrency Control", "13.4. Data Consistency Checks at the Application Level", "Prev Up"),
    ),
    Page(
        "postgresql-doc-15",
        "PostgreSQL",
        "/usr/share/doc/postgresql-doc-15/html/tutorial-join.html",
        (
            "Thus far, our queries have only accessed one table at a time.",
            "There are two columns containing the city name.",
            "Now we will figure out how we can get the Hayward records back in.",
            "SELECT * FROM weather w JOIN cities c ON w.city = c.name;",
            "You will encounter this style of abbreviating quite frequently.",
        ),
        ("Chapter 2. The SQL Language", "2.7. Aggregate Functions", "Prev Up"),
    ),
    Page(
        "sqlite3-doc",
        "SQLite",
        "/usr/share/doc/sqlite3/wal.html",
        (
            "The wal-index greatly improves the performance of readers",
            "Writers merely append new content to the end of the WAL file.",
            "An application can initiate a checkpoint using any writable database",
            "So a large change to a large database might result in a large WAL file.",
            "PRAGMA journal_mode=DELETE;",
        ),
        ("Small. Fast. Reliable.", "Choose any three.", "Support Purchase", "This page last modified on"),
    ),
    Page(
        "sqlite3-doc",
        "SQLite",
        "/usr/share/doc/sqlite3/whentouse.html",
        (
            "SQLite is not directly comparable to client/server SQL database engines",
            "Many bioinformatics researchers use SQLite in this way.",
            "SQLite is a good solution for any situation that requires bundling diverse content",
            "An SQLite database is limited in size to 281 terabytes",
            "SQLite is fast and reliable and it requires no configuration or maintenance.",
        ),
        ("Small. Fast. Reliable.", "Choose any three.", "Support Purchase", "This page last modified on"),
    ),
    Page(
        "zsh-doc",
        "Zsh, Texinfo",
        "/usr/share/doc/zsh-common/html/Jobs-_0026-Signals.html",
        (
            "If the MONITOR option is set, an interactive shell associates a job with each pipeline.",
            "[1] 1234",
            "A job being run in the background will suspend if it tries to read from the terminal.",
            "When a command is suspended and continued later with the fg or wait builtins",
            "The shell itself always ignores the QUIT signal.",
        ),
        ("Top Contents Index", "This document was generated on"),
    ),
    Page(
        "apt-doc",
        "APT, DocBook",
        "/usr/share/doc/apt-doc/guide.html/ch2.html",
        (
            "apt-get provides a simple way to install packages from the command line.",
            "Get http://ftp.de.debian.org/debian-non-US/ stable/binary-i386/ Packages",
            "Upgrade will never install a new package or remove an existing package",
            "Any number of packages may be passed to install, they will all be fetched.",
            "It is important to closely look at what dist-upgrade is going to do",
        ),
        ("Chapter 1. General", "Chapter 3. DSelect"),
    ),
    Page(
        "valgrind",
        "Valgrind",
        "/usr/share/doc/valgrind/html/quick-start.html",
        (
            "The Valgrind tool suite provides a number of debugging and profiling tools",
            "x[10] = 0; // problem 1: heap block overrun",
            "It's worth fixing errors in the order they are reported",
            "Memcheck is not perfect; it occasionally produces false positives",
            "which have much more information.",
        ),
        ("Up Valgrind User Manual",),
    ),
    Page(
        "fish",
        "fish",
        "/usr/share/doc/fish/faq.html",
        (
            "Unlike .bashrc and .profile, this file is always read",
            "If the argument you want is far back in history",
            "The open command uses the MIME type database",
            "set -gx EDITOR vim",
            "This is not an exhaustive list and the fish project has no opinion",
        ),
        ("Quick search", "Created using Sphinx", "Release notes", "Completions Design"),
    ),
)
