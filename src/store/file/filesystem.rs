//! What lies below the store: whether its file system is one of the network, and how much room is left.
//!
//! It looks at names and numbers of the system alone, never into the store.

use std::path::Path;

/// File systems whose locks and shared memory don't hold between machines, as Linux names them.
const OF_THE_NETWORK: &[&str] = &[
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ncpfs",
    "afs",
    "9p",
    "ceph",
    "coda",
    "lustre",
    "glusterfs",
    "gfs2",
    "ocfs2",
    "beegfs",
    "orangefs",
    "davfs",
    "vboxsf",
    "vmhgfs",
    "fuse.vmhgfs-fuse",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.ceph",
    "fuse.davfs2",
    "fuse.smbnetfs",
    "fuse.curlftpfs",
    "fuse.gcsfuse",
    "fuse.juicefs",
];

/// The name of the network file system that `folder` lies on; `None` if it is a local one, or the system doesn't say.
pub(in crate::store) fn network(folder: &Path) -> Option<String> {
    let kind = kind(folder)?;
    OF_THE_NETWORK.contains(&kind.as_str()).then_some(kind)
}

/// The name of the file system that `folder` lies on, where the system says.
#[cfg(target_os = "linux")]
pub fn kind(folder: &Path) -> Option<String> {
    let device = std::os::unix::fs::MetadataExt::dev(&std::fs::metadata(folder).ok()?);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounted(&mounts, (rustix::fs::major(device), rustix::fs::minor(device))).map(str::to_owned)
}

/// The name of the file system that `folder` lies on, where the system says.
#[cfg(not(target_os = "linux"))]
pub fn kind(_folder: &Path) -> Option<String> {
    None
}

/// The bytes that are free for this user where `folder` lies.
#[cfg(unix)]
pub fn free(folder: &Path) -> Option<u64> {
    let numbers = rustix::fs::statvfs(folder).ok()?;
    numbers.f_bavail.checked_mul(numbers.f_frsize)
}

/// The bytes that are free for this user where `folder` lies.
#[cfg(not(unix))]
pub fn free(_folder: &Path) -> Option<u64> {
    None
}

/// The name of the file system with this device number, in the words of proc(5): `36 35 98:0 /mnt1 /mnt2 rw - ext3 ...`.
#[cfg(any(target_os = "linux", test))]
fn mounted(mounts: &str, (major, minor): (u32, u32)) -> Option<&str> {
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
    fn the_file_system_is_found_by_its_device() {
        assert_eq!(mounted(MOUNTS, (254, 0)), Some("ext4"));
        assert_eq!(mounted(MOUNTS, (0, 35)), Some("nfs4"));
        assert_eq!(mounted(MOUNTS, (0, 36)), Some("fuse.sshfs"));
        assert_eq!(mounted(MOUNTS, (0, 3)), None);
        assert!(["nfs4", "fuse.sshfs"].iter().all(|kind| OF_THE_NETWORK.contains(kind)));
    }

    #[test]
    fn the_folder_of_this_test_is_local() {
        assert_eq!(network(&std::env::temp_dir()), None);
    }
}
