"""What kind of file system a folder lies on: how it compares names, and whether two machines may share it (§3)."""

from __future__ import annotations

import os
import re
from typing import Final

from draftfs import paths
from draftfs.errors import from_oserror

SHARED_FILE_SYSTEMS: Final = frozenset(
    "9p acfs afpfs afs beegfs ceph cifs coda davfs drvfs fhgfs gfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 "  # noqa: SIM905
    "orangefs panfs prl_fs pvfs2 smb3 smbfs vboxsf virtiofs vmhgfs wekafs fuse.ceph fuse.ceph-fuse fuse.davfs "
    "fuse.gcsfuse fuse.glusterfs fuse.goofys fuse.grpcfuse fuse.juicefs fuse.mfs fuse.osxfs fuse.rclone fuse.s3fs "
    "fuse.seaweedfs fuse.sshfs fuse.vmhgfs-fuse".split()
)
"""File systems that two kernels may have mounted at once: each would grant its own lock on one file."""


def probe_fold(folder: str) -> paths.Fold:
    """How the file system of `folder` compares names, tried out in a folder of its own that is gone afterwards."""
    trial = os.path.join(os.fsencode(folder), b".draftfs-probe-" + os.urandom(8).hex().encode())
    composed, decomposed = os.path.join(trial, "\u00e9".encode()), os.path.join(trial, "e\u0301".encode())
    lower, upper = os.path.join(trial, b"name"), os.path.join(trial, b"NAME")
    try:
        os.mkdir(trial, 0o700)
        try:
            for name in (composed, lower):
                os.mkdir(name)
            return paths.Fold(case=os.path.lexists(upper), form=os.path.lexists(decomposed))
        finally:
            for name in (composed, lower, trial):
                if os.path.lexists(name):
                    os.rmdir(name)
    except OSError as fault:
        raise from_oserror(fault, "trying how names compare") from fault


def file_system(folder: str) -> str | None:
    """The type of the file system that `folder` lies on, as Linux calls it; None where there is nobody to ask."""
    try:
        with open("/proc/self/mountinfo", "rb") as mounts:
            lines = mounts.read().splitlines()
    except FileNotFoundError:
        return None
    where, best, kind = os.path.realpath(folder), "", None
    for line in lines:
        mount, _, source = line.partition(b" - ")
        point = os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda code: bytes((int(code[1], 8),)), mount.split(b" ")[4]))
        if len(point) >= len(best) and (where + "/").startswith(
            point.rstrip("/") + "/"
        ):  # of two mounts on one point the later one is seen
            best, kind = point, os.fsdecode(source.split(b" ")[0])
    return kind
