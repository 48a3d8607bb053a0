"""Names of the headers that C, C++ and POSIX own: no folder of a repository may hide them.

And what the C library and the kernel install. All else in a machine's folder of headers is of other packages.
"""

from __future__ import annotations

from typing import Final

_C = (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic "
    "stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype"
)
_CPP = (
    "algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes "
    "climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg "
    "cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution expected filesystem "
    "format forward_list fstream functional future generator initializer_list iomanip ios iosfwd iostream istream "
    "iterator latch limits list locale map mdspan memory memory_resource mutex new numbers numeric optional ostream "
    "print queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span spanstream "
    "sstream stack stacktrace stdexcept stdfloat stop_token streambuf string string_view strstream syncstream "
    "system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant "
    "vector version"
)
_POSIX = (
    "aio alloca byteswap cpio dirent dlfcn elf endian err execinfo fcntl features fmtmsg fnmatch ftw getopt glob grp "
    "iconv ifaddrs langinfo libgen link malloc memory monetary mqueue ndbm netdb nl_types poll pthread pty pwd regex "
    "resolv sched search semaphore spawn stropts strings syslog tar termios trace ucontext ulimit unistd utime utmp "
    "utmpx wordexp x86intrin immintrin emmintrin xmmintrin cpuid"
)
_FOLDERS = {
    "sys": "cdefs epoll eventfd file inotify ioctl ipc mman mount msg param poll prctl ptrace random resource select "
    "sem sendfile shm signal socket stat statfs statvfs syscall sysinfo sysmacros time timeb timerfd times types "
    "ucontext uio un utsname vfs wait",
    "net": "ethernet if if_arp",
    "netinet": "in ip ip6 tcp udp",
    "arpa": "inet",
    "bits": "types wordsize",
    "asm": "types",
    "gnu": "stubs libc-version",
}

SYSTEM_HEADERS: Final = frozenset(
    [
        *(f"{name}.h" for name in (_C + " " + _POSIX).split()),
        *_CPP.split(),
        *(f"{folder}/{name}.h" for folder, names in _FOLDERS.items() for name in names.split()),
    ]
)
"""Spellings between angle brackets, e.g. `time.h`, `vector`, `sys/types.h`."""

_LIBRARY = (
    "_G_config a.out aliases ar argp argz crypt envz error features-time64 fpu_control fstab fts gconv gnu-versions "
    "gshadow ieee754 lastlog libintl libio mcheck mntent nss obstack paths printf proc_service re_comp regexp sgtty "
    "shadow stab stdc-predef stdio_ext sysexits syscall termio thread_db ttyent ustat values wait xlocale"
)

LIBRARY_ENTRIES: Final = frozenset(
    [
        *(f"{name}.h" for name in f"{_C} {_POSIX} {_LIBRARY}".split() if name != "ndbm"),  # It is of a database.
        *"arpa asm asm-generic bits c++ cxl drm finclude gnu linux misc mtd net netash netatalk netax25".split(),
        *"neteconet netinet netipx netiucv netpacket netrom netrose nfs protocols rdma regulator rpc scsi".split(),
        *"sound sys video xen".split(),
    ]
)
"""What glibc, musl, the kernel and the C++ library install into `/usr/include`: headers and folders, by name."""
