"""A FUSE file system that answers the greeting of the kernel and nothing else. Usage: silent_fuse.py MOUNTPOINT."""

import ctypes
import os
import struct
import sys

INIT = 26

point = sys.argv[1]
device = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
if libc.mount(b"silent", point.encode(), b"fuse.silent", 0, options):
    sys.exit(os.strerror(ctypes.get_errno()))
while True:
    request = os.read(device, 1 << 20)
    _, code, unique = struct.unpack_from("IIQ", request)
    if code == INIT:
        major, minor, ahead, flags = struct.unpack_from("IIII", request, 40)
        answer = struct.pack("IIIIHHIIHHI28x", 7, 31, ahead, 0, 12, 10, 1 << 16, 1, 0, 0, 0)
        os.write(device, struct.pack("IiQ", 16 + len(answer), 0, unique) + answer)
        print("mounted", flush=True)
