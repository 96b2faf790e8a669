//! Factors of what is done before the measured execution of `run.sh`.

mod cache_preload;
mod drop_caches;
mod reboot;
mod warmups;

pub use cache_preload::CachePreload;
pub use drop_caches::DropCaches;
pub use reboot::Reboot;
pub use warmups::Warmups;
