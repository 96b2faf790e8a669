//! Kernels that are installed on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::state::Host;

/// A kernel that this machine can boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledKernel {
    /// Its release, as `uname -r` says it.
    pub release: String,
    /// The bootable file.
    pub image: PathBuf,
    /// Its initial memory disk; absent where it has none.
    pub initrd: Option<PathBuf>,
}

/// Kernels whose images are where distributions put them, by their releases, the highest text last.
pub fn list_kernels(host: &Host) -> Vec<InstalledKernel> {
    let mut images: BTreeMap<String, PathBuf> = BTreeMap::new();
    let boot = host.path("/boot");
    for entry in fs::read_dir(&boot).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let release = name.to_str().and_then(|name| {
            name.strip_prefix("vmlinuz-")
                .or_else(|| name.strip_prefix("vmlinux-"))
        });
        // Fedora's rescue kernel is another file of one that is there.
        if let Some(release) = release.filter(|release| !release.starts_with("0-rescue")) {
            images.insert(release.to_owned(), entry.path());
        }
    }
    let modules = host.path("/lib/modules");
    for entry in fs::read_dir(modules).into_iter().flatten().flatten() {
        let image = entry.path().join("vmlinuz");
        if let (true, Ok(release)) = (image.is_file(), entry.file_name().into_string()) {
            images.entry(release).or_insert(image);
        }
    }
    let initrd = |release: &str| {
        [
            format!("initrd.img-{release}"),
            format!("initramfs-{release}.img"),
            format!("initrd-{release}"),
        ]
        .into_iter()
        .map(|name| boot.join(name))
        .find(|path| path.is_file())
    };
    images
        .into_iter()
        .map(|(release, image)| InstalledKernel {
            initrd: initrd(&release),
            release,
            image,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors::tests::FakeHost;

    #[test]
    fn kernels_are_found_where_distributions_put_them() {
        let host = FakeHost::new();
        for file in [
            "/boot/vmlinuz-6.1.0-50-amd64",
            "/boot/initrd.img-6.1.0-50-amd64",
            "/boot/vmlinuz-6.5.6-300.fc39.x86_64",
            "/boot/initramfs-6.5.6-300.fc39.x86_64.img",
            "/boot/vmlinuz-0-rescue-0123",
            "/boot/config-6.1.0-50-amd64",
            "/lib/modules/6.9.1-arch1/vmlinuz",
            "/lib/modules/6.9.2-gone/modules.dep",
        ] {
            host.write(file, "x");
        }
        let found = list_kernels(&host.host);
        let told: Vec<(&str, bool)> = found
            .iter()
            .map(|kernel| (kernel.release.as_str(), kernel.initrd.is_some()))
            .collect();
        assert_eq!(
            told,
            [
                ("6.1.0-50-amd64", true),
                ("6.5.6-300.fc39.x86_64", true),
                ("6.9.1-arch1", false)
            ]
        );
    }
}
