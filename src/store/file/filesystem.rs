//! The file system of the store: whether it is a network file system, and how much space is free.
//!
//! This module reads names and numbers from the operating system only, never the store.

use std::path::Path;

/// Network file systems, by their names in Linux, separated by blanks. Their locks and shared memory don't work between
/// machines.
const NETWORK_FILE_SYSTEMS: &str = "nfs nfs4 cifs smb3 smbfs ncpfs afs 9p ceph coda lustre glusterfs gfs2 ocfs2 beegfs orangefs davfs \
    vboxsf vmhgfs fuse.vmhgfs-fuse fuse.sshfs fuse.glusterfs fuse.rclone fuse.s3fs fuse.ceph \
    fuse.davfs2 fuse.smbnetfs fuse.curlftpfs fuse.gcsfuse fuse.juicefs";

/// Returns the name of the network file system that holds `folder`. `None` if the file system is local or unknown.
pub(in crate::store) fn network_kind(folder: &Path) -> Option<String> {
    let kind = kind(folder)?;
    NETWORK_FILE_SYSTEMS.split(' ').any(|known| known == kind).then_some(kind)
}

/// Returns the name of the file system that holds `folder`; `None` if it is unknown.
#[cfg(target_os = "linux")]
pub(crate) fn kind(folder: &Path) -> Option<String> {
    let device = std::os::unix::fs::MetadataExt::dev(&std::fs::metadata(folder).ok()?);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    kind_of_device(&mounts, rustix::fs::major(device), rustix::fs::minor(device)).map(str::to_owned)
}

/// Returns the name of the file system that holds `folder`; `None` if it is unknown.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kind(_folder: &Path) -> Option<String> {
    None
}

/// Returns the bytes that are free for this user on the file system of `folder`; `None` if that is unknown.
pub(crate) fn free(folder: &Path) -> Option<u64> {
    let numbers = rustix::fs::statvfs(folder).ok()?;
    numbers.f_bavail.checked_mul(numbers.f_frsize)
}

/// Returns the largest size of a file in bytes that this process may write, if there is a limit.
pub(in crate::store) fn file_size_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

/// Returns the name of the file system with this device number. `mounts` has lines as in proc(5):
/// `36 35 98:0 /mnt1 /mnt2 rw - ext3 ...`.
#[cfg(any(target_os = "linux", test))]
fn kind_of_device(mounts: &str, major: u32, minor: u32) -> Option<&str> {
    let device = format!("{major}:{minor}");
    let mut of_device = mounts.lines().filter(|line| line.split(' ').nth(2) == Some(&device));
    let (_, behind) = of_device.next()?.split_once(" - ")?;
    behind.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:35 / /home/me/my\\040share rw,nosuid - nfs4 server:/export rw,vers=4.2
41 22 0:36 / /mnt/host rw,relatime shared:7 master:2 - fuse.sshfs me@host: rw";

    #[test]
    fn file_system_is_found_by_its_device() {
        assert_eq!(kind_of_device(MOUNTS, 254, 0), Some("ext4"));
        assert_eq!(kind_of_device(MOUNTS, 0, 35), Some("nfs4"));
        assert_eq!(kind_of_device(MOUNTS, 0, 36), Some("fuse.sshfs"));
        assert_eq!(kind_of_device(MOUNTS, 0, 3), None);
        assert!(["nfs4", "fuse.sshfs"].iter().all(|kind| NETWORK_FILE_SYSTEMS.contains(kind)));
    }

    #[test]
    fn temporary_folder_is_local() {
        assert_eq!(network_kind(&std::env::temp_dir()), None);
    }
}
