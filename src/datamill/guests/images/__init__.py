"""What guests boot: kernels, disks and workers, made of Debian's packages."""
