"""Names of the C and C++ standard libraries and of POSIX, by the header that promises each of them.

In C++ the header `stdio` of C is `<cstdio>`, in C it is `<stdio.h>`.
"""

from __future__ import annotations

from typing import Final

_C: Final = {
    "assert": "assert",
    "ctype": "isalnum isalpha isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit tolower "
    "toupper",
    "errno": "errno EDOM ERANGE EILSEQ EINVAL ENOENT ENOMEM EINTR EAGAIN EWOULDBLOCK EEXIST EACCES EPERM EBADF EBUSY "
    "EIO ENOSYS ENOTSUP EOVERFLOW EPIPE ETIMEDOUT EINPROGRESS ENOTDIR EISDIR ENOTCONN ECONNRESET EADDRINUSE ENOSPC "
    "E2BIG EADDRNOTAVAIL EAFNOSUPPORT EALREADY EBADMSG ECANCELED ECHILD ECONNABORTED ECONNREFUSED EDEADLK "
    "EDESTADDRREQ EDQUOT EFAULT EFBIG EHOSTUNREACH EIDRM EISCONN ELOOP EMFILE EMLINK EMSGSIZE ENAMETOOLONG ENETDOWN "
    "ENETRESET ENETUNREACH ENFILE ENOBUFS ENODATA ENODEV ENOEXEC ENOLCK ENOLINK ENOMSG ENOPROTOOPT ENOTEMPTY "
    "ENOTRECOVERABLE ENOTSOCK ENOTTY ENXIO EOPNOTSUPP EOWNERDEAD EPROTO EPROTONOSUPPORT EPROTOTYPE EROFS ESHUTDOWN "
    "ESPIPE ESRCH ESTALE ETIME ETXTBSY EXDEV",
    "float": "DBL_DIG DBL_EPSILON DBL_MANT_DIG DBL_MAX DBL_MAX_EXP DBL_MIN DBL_MIN_EXP FLT_DIG FLT_EPSILON "
    "FLT_MANT_DIG FLT_MAX FLT_MIN FLT_RADIX LDBL_MAX LDBL_MIN LDBL_EPSILON LDBL_MANT_DIG DECIMAL_DIG DBL_DECIMAL_DIG "
    "DBL_MAX_10_EXP DBL_MIN_10_EXP DBL_TRUE_MIN FLT_DECIMAL_DIG FLT_EVAL_METHOD FLT_MAX_10_EXP FLT_MAX_EXP "
    "FLT_MIN_10_EXP FLT_MIN_EXP FLT_ROUNDS FLT_TRUE_MIN LDBL_DIG LDBL_MAX_10_EXP LDBL_MAX_EXP LDBL_MIN_10_EXP "
    "LDBL_MIN_EXP",
    "inttypes": "PRId8 PRId16 PRId32 PRId64 PRIdMAX PRIdPTR PRIi32 PRIi64 PRIu8 PRIu16 PRIu32 PRIu64 PRIuMAX PRIuPTR "
    "PRIx8 PRIx16 PRIx32 PRIx64 PRIxPTR PRIX32 PRIX64 SCNd64 SCNu32 SCNu64 SCNx64 strtoimax strtoumax imaxabs PRIX8 "
    "PRIX16 PRIXMAX PRIXPTR PRIi8 PRIi16 PRIiMAX PRIiPTR PRIo8 PRIo16 PRIo32 PRIo64 PRIxMAX SCNd8 SCNd16 SCNd32 "
    "SCNdMAX SCNi32 SCNi64 SCNu8 SCNu16 SCNuMAX SCNuPTR SCNx8 SCNx16 SCNx32 SCNxPTR imaxdiv imaxdiv_t",
    "limits": "CHAR_BIT CHAR_MAX CHAR_MIN INT_MAX INT_MIN LLONG_MAX LLONG_MIN LONG_MAX LONG_MIN SCHAR_MAX SCHAR_MIN "
    "SHRT_MAX SHRT_MIN UCHAR_MAX UINT_MAX ULLONG_MAX ULONG_MAX USHRT_MAX MB_LEN_MAX PATH_MAX NAME_MAX IOV_MAX",
    "locale": "lconv localeconv setlocale LC_ALL LC_COLLATE LC_CTYPE LC_MONETARY LC_NUMERIC LC_TIME LC_MESSAGES "
    "locale_t newlocale freelocale uselocale duplocale",
    "math": "acos acosf asin asinf atan atan2 atan2f atanf cbrt ceil ceilf copysign cos cosf cosh erf erfc exp exp2 "
    "expf expm1 fabs fabsf fdim floor floorf fma fmax fmaxf fmin fminf fmod fmodf fpclassify frexp HUGE_VAL hypot "
    "ilogb INFINITY isfinite isinf isnan isnormal ldexp lgamma llrint llround log log10 log1p log2 logb logf lrint "
    "lround modf NAN nan nearbyint nextafter pow powf remainder rint round roundf scalbn signbit sin sinf sinh sqrt "
    "sqrtf tan tanf tanh tgamma trunc truncf M_PI M_E M_PI_2 M_SQRT2",
    "setjmp": "jmp_buf longjmp setjmp sigjmp_buf siglongjmp sigsetjmp",
    "signal": "raise sig_atomic_t signal SIGABRT SIGFPE SIGILL SIGINT SIGSEGV SIGTERM SIG_DFL SIG_ERR SIG_IGN SIGPIPE "
    "SIGKILL SIGCHLD SIGHUP SIGUSR1 SIGUSR2 sigaction sigset_t sigemptyset sigaddset sigfillset kill SIGALRM SIGBUS "
    "SIGCONT SIGIO SIGPROF SIGQUIT SIGRTMAX SIGRTMIN SIGSTKSZ SIGSTOP SIGSYS SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG "
    "SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ SIG_BLOCK SIG_SETMASK SIG_UNBLOCK SA_NOCLDSTOP SA_NODEFER SA_ONSTACK "
    "SA_RESETHAND SA_RESTART SA_SIGINFO NSIG killpg psignal pthread_kill pthread_sigmask sigaltstack sigdelset "
    "siginfo_t sigismember sigpending sigprocmask sigsuspend sigtimedwait sigval sigwait sigwaitinfo stack_t "
    "ucontext_t",
    "stdarg": "va_arg va_copy va_end va_list va_start",
    "stddef": "max_align_t NULL offsetof ptrdiff_t size_t nullptr_t byte",
    "stdint": "INT16_MAX INT16_MIN INT32_MAX INT32_MIN INT64_MAX INT64_MIN INT8_MAX INT8_MIN INTMAX_MAX INTPTR_MAX "
    "SIZE_MAX UINT16_MAX UINT32_MAX UINT64_MAX UINT8_MAX UINTMAX_MAX UINTPTR_MAX INT64_C UINT64_C UINT32_C INT32_C "
    "int16_t int32_t int64_t int8_t int_fast16_t int_fast32_t int_fast64_t int_fast8_t int_least16_t int_least32_t "
    "int_least64_t int_least8_t intmax_t intptr_t uint16_t uint32_t uint64_t uint8_t uint_fast16_t uint_fast32_t "
    "uint_fast64_t uint_fast8_t uint_least16_t uint_least32_t uint_least64_t uint_least8_t uintmax_t uintptr_t INT8_C "
    "INT16_C INTMAX_C INTMAX_MIN INTPTR_MIN PTRDIFF_MAX PTRDIFF_MIN UINT8_C UINT16_C UINTMAX_C SIG_ATOMIC_MAX "
    "SIG_ATOMIC_MIN WINT_MAX WINT_MIN",
    "stdio": "BUFSIZ EOF FILE FILENAME_MAX L_tmpnam SEEK_CUR SEEK_END SEEK_SET _IOFBF _IOLBF _IONBF clearerr fclose "
    "feof ferror fflush fgetc fgetpos fgets fopen fpos_t fprintf fputc fputs fread freopen fscanf fseek fsetpos ftell "
    "fwrite getc getchar perror printf putc putchar puts remove rename rewind scanf setbuf setvbuf snprintf sprintf "
    "sscanf stderr stdin stdout tmpfile tmpnam ungetc vfprintf vprintf vscanf vsnprintf vsprintf vsscanf fileno "
    "fdopen popen pclose fseeko ftello getline asprintf vasprintf",
    "stdlib": "EXIT_FAILURE EXIT_SUCCESS MB_CUR_MAX RAND_MAX _Exit abort abs aligned_alloc atexit atof atoi atol atoll "
    "at_quick_exit bsearch calloc div div_t exit free getenv labs ldiv llabs lldiv malloc mblen mbstowcs mbtowc qsort "
    "quick_exit rand realloc srand strtod strtof strtol strtold strtoll strtoul strtoull system wcstombs wctomb "
    "posix_memalign setenv unsetenv putenv mkstemp mkdtemp realpath random srandom",
    "string": "memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror strlen strncat "
    "strncmp strncpy strpbrk strrchr strspn strstr strtok strxfrm strdup strndup strnlen strerror_r strtok_r stpcpy "
    "memmem memrchr strsignal",
    "time": "CLOCKS_PER_SEC asctime clock clock_t ctime difftime gmtime localtime mktime strftime time time_t timespec "
    "timespec_get tm clock_gettime CLOCK_MONOTONIC CLOCK_REALTIME gmtime_r localtime_r nanosleep strptime timegm",
    "wchar": "WCHAR_MAX WCHAR_MIN WEOF btowc fgetwc fputwc fwprintf mbrlen mbrtowc mbsrtowcs mbstate_t swprintf "
    "wcrtomb wcscat wcschr wcscmp wcscpy wcslen wcsncmp wcsncpy wcsrchr wcsrtombs wcsstr wcstol wint_t wmemchr "
    "wmemcmp wmemcpy wmemmove wmemset wprintf fgetws fputws fwide fwscanf getwc getwchar mbsinit putwc putwchar "
    "swscanf ungetwc vfwprintf vswprintf vwprintf wcscoll wcscspn wcsdup wcsncat wcsnlen wcspbrk wcsspn wcstod wcstof "
    "wcstok wcstold wcstoll wcstoul wcstoull wcswidth wcsxfrm wctob wcwidth wscanf",
    "wctype": "iswalnum iswalpha iswdigit iswlower iswspace iswupper towlower towupper wctype_t iswblank iswcntrl "
    "iswctype iswgraph iswprint iswpunct iswxdigit towctrans wctrans wctrans_t wctype",
    "fenv": "FE_ALL_EXCEPT FE_DFL_ENV FE_DIVBYZERO FE_DOWNWARD FE_INEXACT FE_INVALID FE_OVERFLOW FE_TONEAREST "
    "FE_TOWARDZERO FE_UNDERFLOW FE_UPWARD feclearexcept fegetenv fegetexceptflag fegetround feholdexcept fenv_t "
    "feraiseexcept fesetenv fesetexceptflag fesetround fetestexcept feupdateenv fexcept_t",
}
"""Names without a namespace, or of `std`; POSIX adds some to these headers."""
_C_ONLY: Final = {
    "stdbool": "bool true false",
    "stdatomic": "atomic_int atomic_bool atomic_uint atomic_long atomic_ulong atomic_flag atomic_size_t "
    "atomic_uintptr_t atomic_init atomic_load atomic_load_explicit atomic_store atomic_store_explicit atomic_exchange "
    "atomic_exchange_explicit atomic_compare_exchange_strong atomic_compare_exchange_strong_explicit "
    "atomic_compare_exchange_weak atomic_compare_exchange_weak_explicit atomic_fetch_add atomic_fetch_add_explicit "
    "atomic_fetch_sub atomic_fetch_sub_explicit atomic_fetch_or atomic_fetch_and atomic_thread_fence "
    "atomic_flag_test_and_set atomic_flag_clear memory_order memory_order_relaxed memory_order_acquire "
    "memory_order_release memory_order_acq_rel memory_order_seq_cst ATOMIC_BOOL_LOCK_FREE ATOMIC_CHAR_LOCK_FREE "
    "ATOMIC_FLAG_INIT ATOMIC_INT_LOCK_FREE ATOMIC_LLONG_LOCK_FREE ATOMIC_LONG_LOCK_FREE ATOMIC_POINTER_LOCK_FREE "
    "ATOMIC_SHORT_LOCK_FREE ATOMIC_VAR_INIT atomic_char atomic_fetch_and_explicit atomic_fetch_or_explicit "
    "atomic_fetch_xor atomic_fetch_xor_explicit atomic_flag_clear_explicit atomic_flag_test_and_set_explicit "
    "atomic_intptr_t atomic_is_lock_free atomic_llong atomic_ptrdiff_t atomic_schar atomic_short atomic_signal_fence "
    "atomic_uchar atomic_uintmax_t atomic_intmax_t atomic_ullong atomic_ushort memory_order_consume kill_dependency",
}
_POSIX: Final = {
    "sys/types.h": "ssize_t off_t pid_t uid_t gid_t mode_t dev_t ino_t nlink_t blksize_t blkcnt_t u_int8_t u_int32_t",
    "sys/stat.h": "stat fstat lstat mkdir chmod fchmod umask mkfifo S_ISDIR S_ISREG S_ISLNK S_IRUSR S_IWUSR S_IFMT "
    "S_IFBLK S_IFCHR S_IFDIR S_IFIFO S_IFLNK S_IFREG S_IFSOCK S_IRGRP S_IROTH S_IRWXG S_IRWXO S_IRWXU S_ISBLK S_ISCHR "
    "S_ISFIFO S_ISGID S_ISSOCK S_ISUID S_ISVTX S_IWGRP S_IWOTH S_IXGRP S_IXOTH S_IXUSR UTIME_NOW UTIME_OMIT fchmodat "
    "fstatat futimens mkdirat mknod utimensat",
    "sys/time.h": "timeval gettimeofday utimes timerclear timeradd timersub itimerval setitimer ITIMER_PROF "
    "ITIMER_REAL ITIMER_VIRTUAL futimes getitimer lutimes settimeofday timercmp timerisset",
    "sys/wait.h": "wait waitpid WEXITSTATUS WIFEXITED WIFSIGNALED WTERMSIG WNOHANG WCOREDUMP WIFSTOPPED WIFCONTINUED "
    "WSTOPSIG WUNTRACED WCONTINUED P_ALL P_PGID P_PID idtype_t wait3 wait4 waitid",
    "sys/mman.h": "mmap munmap mprotect madvise msync MAP_FAILED MAP_PRIVATE MAP_SHARED MAP_ANONYMOUS PROT_READ "
    "PROT_EXEC PROT_NONE PROT_WRITE MAP_FIXED MAP_ANON MAP_NORESERVE MAP_POPULATE MADV_DONTNEED MADV_RANDOM "
    "MADV_SEQUENTIAL MADV_WILLNEED MCL_CURRENT MCL_FUTURE MS_ASYNC MS_SYNC mincore mlock mlockall mremap munlock "
    "munlockall posix_madvise shm_open shm_unlink",
    "sys/resource.h": "getrlimit setrlimit rlimit getrusage rusage RLIMIT_NOFILE RUSAGE_SELF RLIM_INFINITY RLIMIT_AS "
    "RLIMIT_CORE RLIMIT_CPU RLIMIT_DATA RLIMIT_FSIZE RLIMIT_NPROC RLIMIT_STACK RUSAGE_CHILDREN PRIO_PROCESS "
    "getpriority rlim_t setpriority",
    "sys/socket.h": "socket bind listen accept connect send recv sendto recvfrom sendmsg recvmsg setsockopt getsockopt "
    "getsockname getpeername shutdown socketpair sockaddr sockaddr_storage socklen_t msghdr cmsghdr AF_INET AF_INET6 "
    "AF_UNIX AF_UNSPEC SOCK_STREAM SOCK_DGRAM SOL_SOCKET SO_REUSEADDR SO_ERROR sa_family_t AF_LOCAL CMSG_DATA "
    "CMSG_FIRSTHDR CMSG_LEN CMSG_NXTHDR CMSG_SPACE MSG_CTRUNC MSG_DONTWAIT MSG_NOSIGNAL MSG_PEEK MSG_TRUNC "
    "MSG_WAITALL PF_INET PF_INET6 PF_LOCAL PF_UNIX PF_UNSPEC SCM_RIGHTS SHUT_RD SHUT_RDWR SHUT_WR SOCK_CLOEXEC "
    "SOCK_NONBLOCK SOCK_RAW SOCK_SEQPACKET SOMAXCONN SO_BROADCAST SO_KEEPALIVE SO_LINGER SO_RCVBUF SO_RCVTIMEO "
    "SO_REUSEPORT SO_SNDBUF SO_SNDTIMEO SO_TYPE accept4 linger",
    "sys/uio.h": "iovec readv writev",
    "sys/un.h": "sockaddr_un",
    "sys/ioctl.h": "ioctl winsize TIOCGWINSZ FIONBIO FIONREAD",
    "sys/epoll.h": "epoll_create epoll_create1 epoll_ctl epoll_wait epoll_event EPOLLIN EPOLLOUT EPOLL_CTL_ADD "
    "EPOLLERR EPOLLET EPOLLHUP EPOLLONESHOT EPOLLPRI EPOLLRDHUP EPOLL_CLOEXEC EPOLL_CTL_DEL EPOLL_CTL_MOD "
    "epoll_data_t epoll_pwait",
    "sys/utsname.h": "utsname uname",
    "sys/select.h": "fd_set select FD_SET FD_ZERO FD_ISSET FD_CLR pselect",
    "netinet/in.h": "sockaddr_in sockaddr_in6 in_addr in6_addr in_addr_t in_port_t INADDR_ANY INADDR_LOOPBACK "
    "IPPROTO_TCP IPPROTO_IP IPPROTO_IPV6 IPPROTO_UDP ip_mreq ipv6_mreq in6addr_any INADDR_BROADCAST INADDR_NONE "
    "INET6_ADDRSTRLEN INET_ADDRSTRLEN IN6ADDR_ANY_INIT IN6ADDR_LOOPBACK_INIT IN6_IS_ADDR_LINKLOCAL "
    "IN6_IS_ADDR_LOOPBACK IN6_IS_ADDR_MULTICAST IN6_IS_ADDR_V4MAPPED IPPROTO_ICMP IPPROTO_ICMPV6 IPPROTO_RAW "
    "IPV6_V6ONLY IP_ADD_MEMBERSHIP IP_MULTICAST_IF IP_MULTICAST_LOOP IP_MULTICAST_TTL IP_TTL in6addr_loopback",
    "netinet/tcp.h": "TCP_NODELAY TCP_KEEPIDLE TCP_KEEPINTVL TCP_KEEPCNT",
    "arpa/inet.h": "htonl htons ntohl ntohs inet_addr inet_ntoa inet_ntop inet_pton inet_aton",
    "netdb.h": "addrinfo getaddrinfo freeaddrinfo gai_strerror getnameinfo hostent gethostbyname NI_NUMERICHOST "
    "AI_ADDRCONFIG AI_CANONNAME AI_NUMERICHOST AI_NUMERICSERV AI_PASSIVE AI_V4MAPPED EAI_AGAIN EAI_BADFLAGS EAI_FAIL "
    "EAI_FAMILY EAI_MEMORY EAI_NODATA EAI_NONAME EAI_SERVICE EAI_SOCKTYPE EAI_SYSTEM HOST_NOT_FOUND NI_DGRAM "
    "NI_MAXHOST NI_MAXSERV NI_NAMEREQD NI_NUMERICSERV NO_DATA NO_RECOVERY TRY_AGAIN gethostbyaddr gethostbyname_r "
    "getprotobyname getservbyname getservbyport h_errno hstrerror protoent servent",
    "net/if.h": "if_indextoname if_nametoindex IF_NAMESIZE ifreq",
    "unistd.h": "access chdir close dup dup2 execve execvp fork fsync ftruncate getcwd getpid getppid getuid geteuid "
    "gethostname getopt isatty link lseek optarg optind pipe pread pwrite read readlink rmdir sleep symlink sysconf "
    "truncate unlink usleep write _exit STDIN_FILENO STDOUT_FILENO STDERR_FILENO _SC_PAGESIZE _SC_NPROCESSORS_ONLN "
    "R_OK W_OK X_OK F_OK environ alarm chown fchown fdatasync setuid setgid setsid confstr copy_file_range "
    "dup3 execl execle execlp execv execvpe faccessat fchdir fchownat fpathconf getegid getentropy getgid getgroups "
    "getlogin getlogin_r getpagesize getpgid getpgrp getsid gettid lchown linkat lockf opterr "
    "optopt pathconf pipe2 readlinkat sbrk setegid seteuid setpgid setregid setreuid symlinkat syscall "
    "tcgetpgrp tcsetpgrp ttyname ttyname_r unlinkat vfork _SC_CLK_TCK _SC_NPROCESSORS_CONF _SC_OPEN_MAX _SC_PAGE_SIZE "
    "_SC_PHYS_PAGES",
    "fcntl.h": "open openat creat fcntl flock O_RDONLY O_WRONLY O_RDWR O_CREAT O_EXCL O_TRUNC O_APPEND O_NONBLOCK "
    "O_CLOEXEC FD_CLOEXEC F_GETFD F_SETFD F_GETFL F_SETFL F_SETLK F_RDLCK F_WRLCK F_UNLCK AT_FDCWD AT_EMPTY_PATH "
    "AT_REMOVEDIR AT_SYMLINK_FOLLOW AT_SYMLINK_NOFOLLOW F_DUPFD F_DUPFD_CLOEXEC F_GETLK F_GETOWN F_SETLKW F_SETOWN "
    "O_ACCMODE O_ASYNC O_DIRECT O_DIRECTORY O_DSYNC O_LARGEFILE O_NDELAY O_NOATIME O_NOCTTY O_NOFOLLOW O_PATH O_SYNC "
    "O_TMPFILE POSIX_FADV_DONTNEED POSIX_FADV_NORMAL POSIX_FADV_RANDOM POSIX_FADV_SEQUENTIAL POSIX_FADV_WILLNEED "
    "fallocate posix_fadvise posix_fallocate",
    "dirent.h": "DIR dirent opendir readdir closedir scandir DT_BLK DT_CHR DT_DIR DT_FIFO DT_LNK DT_REG DT_SOCK "
    "DT_UNKNOWN dirfd fdopendir rewinddir seekdir telldir alphasort",
    "dlfcn.h": "dlopen dlsym dlclose dlerror RTLD_LAZY RTLD_NOW RTLD_GLOBAL Dl_info dladdr RTLD_DEFAULT RTLD_LOCAL "
    "RTLD_NEXT RTLD_NODELETE RTLD_NOLOAD",
    "poll.h": "poll pollfd POLLIN POLLOUT POLLERR POLLHUP nfds_t ppoll POLLNVAL POLLPRI POLLRDHUP POLLRDNORM "
    "POLLWRNORM",
    "pwd.h": "passwd getpwuid getpwnam getpwuid_r endpwent getpwent getpwnam_r setpwent",
    "grp.h": "group getgrgid getgrnam getgrgid_r endgrent getgrent getgrnam_r getgrouplist initgroups setgrent "
    "setgroups",
    "sched.h": "sched_yield cpu_set_t CPU_SET CPU_ZERO sched_param CPU_CLR CPU_COUNT CPU_ISSET CPU_SETSIZE SCHED_FIFO "
    "SCHED_OTHER SCHED_RR sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getcpu sched_getparam "
    "sched_getscheduler sched_setaffinity sched_setparam sched_setscheduler",
    "semaphore.h": "sem_t sem_init sem_wait sem_post sem_destroy sem_trywait SEM_FAILED sem_close sem_getvalue "
    "sem_open sem_timedwait sem_unlink",
    "strings.h": "strcasecmp strncasecmp bzero ffs bcmp bcopy ffsl",
    "termios.h": "termios tcgetattr tcsetattr ECHO ICANON TCSANOW B115200 B9600 BRKINT CBAUD CLOCAL CREAD CRTSCTS CS8 "
    "CSIZE CSTOPB ECHOE ECHOK ECHONL ICRNL IEXTEN IGNBRK IGNCR INLCR INPCK ISIG ISTRIP IXANY IXOFF IXON ONLCR OPOST "
    "PARENB PARMRK TCIFLUSH TCIOFLUSH TCOFLUSH TCSADRAIN TCSAFLUSH VEOF VEOL VERASE VINTR VKILL VMIN VQUIT VSTART "
    "VSTOP VSUSP VTIME cc_t cfgetispeed cfgetospeed cfmakeraw cfsetispeed cfsetospeed speed_t tcdrain tcflag_t tcflow "
    "tcflush",
    "syslog.h": "syslog openlog closelog LOG_ERR LOG_INFO LOG_ALERT LOG_AUTH LOG_CONS LOG_CRIT LOG_DAEMON LOG_DEBUG "
    "LOG_EMERG LOG_LOCAL0 LOG_NDELAY LOG_NOTICE LOG_PERROR LOG_PID LOG_UPTO LOG_USER LOG_WARNING setlogmask vsyslog",
    "pthread.h": "",
    "sys/eventfd.h": "EFD_CLOEXEC EFD_NONBLOCK EFD_SEMAPHORE eventfd eventfd_t",
    "sys/inotify.h": "IN_ATTRIB IN_CLOEXEC IN_CREATE IN_DELETE IN_DELETE_SELF IN_IGNORED IN_ISDIR IN_MODIFY "
    "IN_MOVED_FROM IN_MOVED_TO IN_MOVE_SELF IN_NONBLOCK IN_Q_OVERFLOW inotify_add_watch inotify_event inotify_init "
    "inotify_init1 inotify_rm_watch",
    "sys/file.h": "LOCK_EX LOCK_NB LOCK_SH LOCK_UN",
    "sys/random.h": "getrandom GRND_NONBLOCK GRND_RANDOM",
    "sys/sendfile.h": "sendfile",
    "sys/signalfd.h": "SFD_CLOEXEC SFD_NONBLOCK signalfd signalfd_siginfo",
    "sys/statfs.h": "fstatfs statfs",
    "sys/statvfs.h": "fstatvfs statvfs",
    "sys/sysinfo.h": "get_nprocs get_nprocs_conf sysinfo",
    "sys/timerfd.h": "TFD_CLOEXEC TFD_NONBLOCK TFD_TIMER_ABSTIME timerfd_create timerfd_gettime timerfd_settime",
    "sys/times.h": "tms",
    "err.h": "errx verr verrx vwarnx warnx",
    "execinfo.h": "backtrace backtrace_symbols backtrace_symbols_fd",
    "fnmatch.h": "FNM_NOESCAPE FNM_NOMATCH FNM_PATHNAME FNM_PERIOD fnmatch",
    "ftw.h": "FTW_D FTW_DEPTH FTW_DP FTW_F FTW_PHYS FTW_SL ftw nftw",
    "getopt.h": "getopt_long getopt_long_only no_argument optional_argument required_argument",
    "glob.h": "GLOB_APPEND GLOB_BRACE GLOB_MARK GLOB_NOCHECK GLOB_NOMATCH GLOB_NOSORT GLOB_NOSPACE GLOB_TILDE glob "
    "glob_t globfree",
    "iconv.h": "iconv iconv_close iconv_open iconv_t",
    "langinfo.h": "CODESET D_FMT D_T_FMT RADIXCHAR T_FMT nl_langinfo",
    "libgen.h": "basename dirname",
    "regex.h": "REG_BADBR REG_BADPAT REG_BADRPT REG_EBRACE REG_EBRACK REG_ECOLLATE REG_ECTYPE REG_EESCAPE REG_EPAREN "
    "REG_ERANGE REG_ESPACE REG_ESUBREG REG_EXTENDED REG_ICASE REG_NEWLINE REG_NOMATCH REG_NOSUB REG_NOTBOL REG_NOTEOL "
    "regcomp regerror regex_t regexec regfree regmatch_t regoff_t",
    "spawn.h": "posix_spawn posix_spawn_file_actions_addclose posix_spawn_file_actions_adddup2 "
    "posix_spawn_file_actions_addopen posix_spawn_file_actions_destroy posix_spawn_file_actions_init "
    "posix_spawn_file_actions_t posix_spawnattr_destroy posix_spawnattr_init posix_spawnattr_setflags "
    "posix_spawnattr_setsigdefault posix_spawnattr_t posix_spawnp",
    "utime.h": "utimbuf utime",
    "wordexp.h": "WRDE_NOCMD wordexp wordexp_t wordfree",
}
_CXX: Final = {
    "algorithm": "all_of any_of binary_search clamp copy copy_backward copy_if copy_n count count_if equal equal_range "
    "fill fill_n find find_end find_first_of find_if find_if_not for_each for_each_n generate generate_n includes "
    "inplace_merge is_heap is_partitioned is_permutation is_sorted is_sorted_until iter_swap lexicographical_compare "
    "lower_bound make_heap max max_element merge min min_element minmax minmax_element mismatch move_backward "
    "next_permutation none_of nth_element partial_sort partition partition_point pop_heap prev_permutation push_heap "
    "remove_copy remove_copy_if remove_if replace replace_copy replace_if reverse reverse_copy rotate rotate_copy "
    "search search_n set_difference set_intersection set_symmetric_difference set_union shuffle sort sort_heap "
    "stable_partition stable_sort swap_ranges transform unique unique_copy upper_bound random_shuffle",
    "any": "any any_cast bad_any_cast make_any",
    "array": "array to_array",
    "atomic": "atomic atomic_bool atomic_flag atomic_int atomic_thread_fence atomic_ref memory_order "
    "memory_order_acq_rel memory_order_acquire memory_order_consume memory_order_relaxed memory_order_release "
    "memory_order_seq_cst atomic_uint atomic_size_t atomic_load atomic_store atomic_uint64_t",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_one countl_zero countr_one countr_zero endian has_single_bit "
    "popcount rotl rotr",
    "bitset": "bitset",
    "charconv": "from_chars from_chars_result to_chars to_chars_result chars_format",
    "chrono": "chrono chrono_literals",
    "compare": "partial_ordering strong_ordering weak_ordering compare_three_way is_eq is_lt is_gt is_neq",
    "complex": "complex",
    "concepts": "same_as derived_from convertible_to integral floating_point signed_integral unsigned_integral "
    "invocable regular semiregular movable copyable totally_ordered equality_comparable constructible_from predicate",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "deque": "deque",
    "exception": "bad_exception current_exception exception exception_ptr get_terminate make_exception_ptr "
    "nested_exception rethrow_exception set_terminate terminate terminate_handler uncaught_exception "
    "uncaught_exceptions throw_with_nested rethrow_if_nested",
    "execution": "execution",
    "filesystem": "filesystem",
    "forward_list": "forward_list",
    "fstream": "basic_filebuf basic_fstream basic_ifstream basic_ofstream filebuf fstream ifstream ofstream wifstream "
    "wofstream",
    "functional": "bad_function_call bind bit_and bit_or bit_xor divides equal_to function greater greater_equal hash "
    "invoke less less_equal logical_and logical_not logical_or mem_fn minus modulus multiplies negate not_equal_to "
    "placeholders plus ref cref reference_wrapper binary_function unary_function not1 bind1st ptr_fun identity",
    "future": "async future future_status launch packaged_task promise shared_future future_error",
    "initializer_list": "initializer_list",
    "iomanip": "get_time put_time quoted setbase setfill setprecision setw setiosflags",
    "ios": "basic_ios boolalpha dec defaultfloat fixed fpos hex hexfloat internal ios ios_base left noboolalpha "
    "noshowbase noskipws oct right scientific showbase showpoint skipws streamoff streampos streamsize uppercase "
    "nouppercase noshowpoint showpos unitbuf nounitbuf iostream_category",
    "iosfwd": "",
    "iostream": "cerr cin clog cout wcerr wcin wclog wcout",
    "istream": "basic_iostream basic_istream iostream istream wistream ws",
    "iterator": "advance back_insert_iterator back_inserter begin bidirectional_iterator_tag cbegin cend data distance "
    "empty end forward_iterator_tag front_insert_iterator front_inserter input_iterator_tag insert_iterator inserter "
    "istream_iterator istreambuf_iterator iterator iterator_traits make_move_iterator make_reverse_iterator "
    "move_iterator next ostream_iterator ostreambuf_iterator output_iterator_tag prev random_access_iterator_tag "
    "rbegin rend reverse_iterator size contiguous_iterator_tag default_sentinel_t sentinel_for input_iterator "
    "forward_iterator output_iterator random_access_iterator contiguous_iterator iter_value_t iter_reference_t",
    "latch": "latch",
    "limits": "numeric_limits float_round_style",
    "list": "list",
    "locale": "codecvt collate ctype has_facet isalnum isalpha isdigit isspace locale moneypunct numpunct tolower "
    "toupper use_facet wstring_convert num_get num_put",
    "map": "map multimap",
    "memory": "addressof align allocate_shared allocator allocator_arg allocator_arg_t allocator_traits "
    "auto_ptr bad_weak_ptr const_pointer_cast construct_at default_delete destroy destroy_at destroy_n "
    "dynamic_pointer_cast enable_shared_from_this make_shared make_unique owner_less pointer_traits "
    "reinterpret_pointer_cast shared_ptr static_pointer_cast to_address uninitialized_copy uninitialized_copy_n "
    "uninitialized_default_construct uninitialized_fill uninitialized_fill_n uninitialized_move unique_ptr "
    "uninitialized_value_construct weak_ptr uses_allocator",
    "memory_resource": "pmr",
    "mutex": "adopt_lock adopt_lock_t call_once defer_lock defer_lock_t lock lock_guard mutex once_flag "
    "recursive_mutex recursive_timed_mutex scoped_lock timed_mutex try_lock try_to_lock unique_lock",
    "new": "align_val_t bad_alloc bad_array_new_length get_new_handler launder new_handler nothrow nothrow_t "
    "set_new_handler hardware_destructive_interference_size destroying_delete_t",
    "numbers": "numbers",
    "numeric": "accumulate adjacent_difference exclusive_scan gcd inclusive_scan inner_product iota lcm midpoint "
    "partial_sum reduce transform_reduce",
    "optional": "bad_optional_access in_place_optional make_optional nullopt nullopt_t optional",
    "ostream": "basic_ostream endl ends flush ostream wostream",
    "queue": "priority_queue queue",
    "random": "bernoulli_distribution default_random_engine discrete_distribution exponential_distribution "
    "generate_canonical linear_congruential_engine mersenne_twister_engine minstd_rand mt19937 mt19937_64 "
    "normal_distribution poisson_distribution random_device seed_seq uniform_int_distribution "
    "uniform_real_distribution geometric_distribution",
    "ranges": "ranges views",
    "ratio": "giga kilo mega micro milli nano ratio",
    "regex": "basic_regex cmatch regex regex_constants regex_error regex_match regex_replace regex_search "
    "regex_iterator smatch sregex_iterator sub_match match_results sregex_token_iterator",
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex shared_timed_mutex",
    "source_location": "source_location",
    "span": "span dynamic_extent as_bytes as_writable_bytes",
    "sstream": "basic_istringstream basic_ostringstream basic_stringbuf basic_stringstream istringstream ostringstream "
    "stringbuf stringstream wostringstream wstringstream wistringstream",
    "stack": "stack",
    "stdexcept": "domain_error invalid_argument length_error logic_error out_of_range overflow_error range_error "
    "runtime_error underflow_error",
    "streambuf": "basic_streambuf streambuf wstreambuf",
    "string": "basic_string char_traits getline stod stof stoi stol stold stoll stoul stoull string string_literals "
    "to_string to_wstring u16string u32string u8string wstring",
    "string_view": "basic_string_view string_view string_view_literals u16string_view u32string_view u8string_view "
    "wstring_view",
    "system_error": "errc error_category error_code error_condition generic_category is_error_code_enum "
    "is_error_condition_enum make_error_code make_error_condition system_category system_error",
    "thread": "jthread this_thread thread",
    "tuple": "apply forward_as_tuple ignore make_from_tuple make_tuple tie tuple tuple_cat",
    "type_traits": "add_const add_cv add_lvalue_reference add_lvalue_reference_t add_pointer add_pointer_t "
    "add_rvalue_reference aligned_storage aligned_storage_t alignment_of bool_constant common_type common_type_t "
    "conditional conditional_t conjunction conjunction_v decay decay_t disjunction disjunction_v enable_if "
    "enable_if_t extent false_type has_virtual_destructor integral_constant invoke_result invoke_result_t "
    "is_abstract is_aggregate is_arithmetic is_array is_assignable is_base_of is_base_of_v is_class is_const "
    "is_const_v is_constant_evaluated is_constructible is_constructible_v is_convertible is_convertible_v "
    "is_copy_assignable is_copy_constructible is_copy_constructible_v is_default_constructible "
    "is_default_constructible_v is_destructible is_empty is_empty_v is_enum is_enum_v is_final is_floating_point "
    "is_floating_point_v is_function is_function_v is_fundamental is_integral is_integral_v is_invocable "
    "is_invocable_r is_invocable_r_v is_invocable_v is_lvalue_reference is_lvalue_reference_v is_member_pointer "
    "is_member_function_pointer is_move_assignable is_move_constructible is_nothrow_constructible "
    "is_nothrow_copy_constructible is_nothrow_default_constructible is_nothrow_destructible "
    "is_nothrow_move_assignable is_nothrow_move_constructible is_nothrow_move_constructible_v is_null_pointer "
    "is_object is_pod is_pointer is_pointer_v is_polymorphic is_reference is_reference_v is_rvalue_reference "
    "is_rvalue_reference_v is_same is_same_v is_scalar is_signed is_signed_v is_standard_layout is_trivial "
    "is_trivially_copyable is_trivially_copyable_v is_trivially_default_constructible is_trivially_destructible "
    "is_trivially_destructible_v is_union is_unsigned is_unsigned_v is_void is_void_v is_volatile make_signed "
    "make_signed_t make_unsigned make_unsigned_t negation negation_v rank remove_all_extents remove_const "
    "remove_const_t remove_cv remove_cv_t remove_cvref remove_cvref_t remove_extent remove_extent_t remove_pointer "
    "remove_pointer_t remove_reference remove_reference_t result_of result_of_t true_type type_identity "
    "type_identity_t underlying_type underlying_type_t void_t unwrap_reference is_trivially_copy_constructible",
    "typeindex": "type_index",
    "typeinfo": "bad_cast bad_typeid type_info",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_multiset unordered_set",
    "utility": "as_const cmp_equal cmp_greater cmp_less declval exchange forward get in_place in_place_index "
    "in_place_index_t in_place_t in_place_type in_place_type_t index_sequence index_sequence_for integer_sequence "
    "make_index_sequence make_integer_sequence make_pair move move_if_noexcept pair piecewise_construct "
    "piecewise_construct_t rel_ops swap to_underlying tuple_element tuple_element_t tuple_size tuple_size_v "
    "unreachable",
    "valarray": "gslice slice valarray",
    "variant": "bad_variant_access get_if holds_alternative monostate variant variant_alternative "
    "variant_alternative_t variant_size variant_size_v visit",
    "vector": "vector",
}


def _by_name(table: dict[str, str], form: str = "{}") -> dict[str, str]:
    return {name: form.format(header) for header, names in table.items() for name in names.split()}


IN_C: Final = _by_name(_POSIX) | _by_name(_C, "{}.h") | _by_name(_C_ONLY, "{}.h")
"""The header of each name in C."""
GLOBAL: Final = _by_name(_POSIX) | _by_name(_C, "c{}")
"""The header of each name without a namespace in C++."""
IN_STD: Final = _by_name(_C, "c{}") | _by_name(_CXX)
"""The header of each name of the namespace `std`."""
HEADERS: Final = frozenset((*IN_C.values(), *GLOBAL.values(), *IN_STD.values(), "pthread.h"))
"""All of them."""
