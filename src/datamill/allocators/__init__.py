"""Which allocations took the slow path?

A traced program says with `region` which part of it is to be counted:

    from datamill.allocators import region

    with region():
        main()
"""

from datamill.allocators.region import disable, enable, region

__all__ = ["disable", "enable", "region"]
