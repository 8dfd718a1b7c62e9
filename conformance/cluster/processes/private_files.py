"""`private_files.py SPEC PROGRAM [ARGUMENT...]` runs a program with files of its own at fixed paths.

Standard library only. It becomes the program: same process id, same signals. SPEC is a JSON file, path
→ content in Latin-1. In its own mount namespace nothing is to be cleaned up. Needs CAP_SYS_ADMIN.
"""

import ctypes
import json
import os
import sys
from pathlib import Path

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    result = _libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3])
    _check(result, f"mount on {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def enter_namespace() -> None:
    """What this process mounts from now on does not spread to the host."""
    _check(_libc.unshare(CLONE_NEWNS), "a private mount namespace")
    _mount("none", "/", None, MS_REC | MS_PRIVATE)


def cover(folder: str) -> None:
    """Put an empty private directory at `folder`. If it is missing, its nearest ancestor is covered
    and the ancestor's entries are bound back in: no directory appears on the host."""
    if os.path.isdir(folder):
        _mount("tmpfs", folder, "tmpfs", 0, "mode=0755")
        return
    ancestor = os.path.dirname(folder)
    while not os.path.isdir(ancestor):
        ancestor = os.path.dirname(ancestor)
    ancestor = os.path.realpath(ancestor)
    mode = os.stat(ancestor).st_mode & 0o7777
    # The working directory still reaches what the new mount hides; a path would not.
    os.chdir(ancestor)
    entries = list(os.scandir("."))
    _mount("tmpfs", ancestor, "tmpfs", 0, f"mode={mode:o}")
    for entry in entries:
        target = os.path.join(ancestor, entry.name)
        if entry.is_symlink():
            os.symlink(os.readlink(entry.name), target)
            continue
        if entry.is_dir():
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
        _mount(entry.name, target, None, MS_BIND | MS_REC)
    os.makedirs(folder)


def main(argv: list[str]) -> None:
    """See the module. With a SPEC of "-" it only tries whether a namespace can be had."""
    if argv[1] == "-":
        enter_namespace()
        _mount("tmpfs", "/tmp", "tmpfs", 0)
        return
    files: dict[str, str] = json.loads(Path(argv[1]).read_bytes())
    before = os.getcwd()
    enter_namespace()
    for folder in sorted({os.path.dirname(path) for path in files}):
        cover(folder)
    for path, content in files.items():
        Path(path).write_bytes(content.encode("latin-1"))
    os.chdir(before)
    os.execvp(argv[2], argv[2:])


if __name__ == "__main__":
    try:
        main(sys.argv)
    except OSError as error:
        print(f"private files: {error}", file=sys.stderr)
        sys.exit(126)
